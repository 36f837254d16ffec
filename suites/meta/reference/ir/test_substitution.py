"""Values are replaced by name, except where a region defines the name again."""

from __future__ import annotations

from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.substitution import replace_inside_region, replace_operands
from reference.ir.types import element_type

A, B, C = (Value(name, TensorType((), element_type("f32"))) for name in "abc")
RETURN = Operation("return", (A,))


def operand_names(region: Region) -> list[list[str]]:
    return [[value.name for value in one.operands] for one in region.operations]


def test_operands_are_replaced_and_results_are_not() -> None:
    assert replace_operands(Operation("add", (A, B), (C,)), {"a": B, "c": A}) == Operation(
        "add", (B, B), (C,)
    )


def test_outer_values_are_replaced_in_nested_regions() -> None:
    inner = Operation("while", (), (), (), (Region((), (RETURN,)),))
    found = replace_inside_region(Region((), (inner, RETURN)), {"a": B})
    assert operand_names(found) == [[], ["b"]]
    assert operand_names(found.operations[0].regions[0]) == [["b"]]


def test_a_value_of_the_region_itself_stays() -> None:
    """Neither an argument nor a result of the region is the outer value of that name."""
    assert operand_names(replace_inside_region(Region((A,), (RETURN,)), {"a": B})) == [["a"]]
    defining = Operation("negate", (C,), (A,))
    region = Region((), (defining, RETURN))
    assert operand_names(replace_inside_region(region, {"a": B, "c": B})) == [["b"], ["a"]]

"""XlaBuilder's branches, calls and selected tuples, in the form that StableHLO has."""

from __future__ import annotations

import pytest

from generators.regions.bodies import BodyBuilder
from reference.ir.program import Region, TensorType, TupleType, Value
from reference.ir.types import element_type
from reference.ops.xla.control_flow import INDEX, OPS, PREDICATE, apply_computation
from suites.meta.support.ops.lowering import lower, records_of, violations

F32, SI32 = element_type("f32"), element_type("si32")
FLOAT, INTEGER = TensorType((), F32), TensorType((), SI32)
RECORDS = records_of(OPS)


def negation(of: TensorType = FLOAT) -> Region:
    block = BodyBuilder.of(of.element)
    return block.finish_region(block.op("negate", *block.arguments))


def test_a_computation_becomes_a_branch_that_uses_the_operand() -> None:
    region = apply_computation(negation(), Value("outer", FLOAT))
    assert region.arguments == ()
    assert [value.name for value in region.operations[0].operands] == ["outer"]


def test_branches_by_a_predicate_and_by_an_index() -> None:
    conditional = RECORDS["Conditional"]
    two, three = (negation(),) * 2, (negation(),) * 3
    (branch,) = lower(conditional, PREDICATE, FLOAT, FLOAT, regions=two)
    assert (branch.name, branch.regions[1].operations[0].operands[0].name) == ("if", "o2")
    (branch,) = lower(conditional, INDEX, FLOAT, FLOAT, FLOAT, regions=three)
    assert (branch.name, len(branch.regions)) == ("case", 3)


@pytest.mark.parametrize(
    ("index", "operands", "regions", "ids"),
    [
        (PREDICATE, (FLOAT, FLOAT), (negation(), negation()), []),
        (PREDICATE, (FLOAT,), (negation(),), ["P1"]),
        (TensorType((), element_type("si64")), (FLOAT, FLOAT), (negation(),) * 2, ["P1"]),
        (PREDICATE, (FLOAT, INTEGER), (negation(), negation()), ["P2"]),
        (PREDICATE, (FLOAT, INTEGER), (negation(), negation(INTEGER)), ["P3"]),
    ],
)
def test_conditions_of_branches(
    index: TensorType, operands: tuple[TensorType, ...], regions: tuple[Region, ...], ids: list[str]
) -> None:
    record = RECORDS["Conditional"]
    assert violations(record, index, *operands, regions=regions, results=(FLOAT,)) == ids


def test_a_call_names_its_function() -> None:
    (call,) = lower(RECORDS["Call"], FLOAT, results=(FLOAT,), computation="f")
    assert (call.name, call.attribute("callee")) == ("func.call", "f")


def test_tuples_are_selected_element_by_element() -> None:
    inner = TupleType((FLOAT, TupleType((INTEGER,))))
    made = lower(RECORDS["Select (tuples)"], PREDICATE, inner, inner)
    names = [one.name for one in made]
    assert names.count("select") == 2
    assert names.count("tuple") == 2
    assert made[-1].results[0].type == inner
    assert all(one.operands[0].name == "o0" for one in made if one.name == "select")


def test_conditions_of_selected_tuples() -> None:
    record, pair = RECORDS["Select (tuples)"], TupleType((FLOAT, FLOAT))
    assert violations(record, PREDICATE, pair, pair) == []
    assert violations(record, INTEGER, pair, pair, result=pair) == ["P1"]
    assert violations(record, PREDICATE, pair, TupleType((FLOAT,)), result=pair) == ["P2"]
    assert violations(record, PREDICATE, FLOAT, FLOAT, result=FLOAT) == ["P2"]

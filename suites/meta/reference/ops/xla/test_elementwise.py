"""Operands of two shapes are broadcast to a common shape, by the rules of XlaBuilder."""

from __future__ import annotations

import pytest

from reference.ir.program import TensorType
from reference.ir.types import COMPLEX, element_type
from reference.ops.xla.elementwise import OPS, Broadcasting, broadcasting
from suites.meta.support.ops.lowering import lower, records_of, violations

F32 = element_type("f32")
RECORDS = records_of(OPS)
Sizes = tuple[int, ...]


def of(*shape: int, element: str = "f32") -> TensorType:
    return TensorType(shape, element_type(element))


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "found"),
    [
        ((2, 3), (2, 3), None, Broadcasting((2, 3), (0, 1), (0, 1))),
        ((), (2, 3), None, Broadcasting((2, 3), (), (0, 1))),
        ((2, 3), (), None, Broadcasting((2, 3), (0, 1), ())),
        ((3,), (2, 3), None, None),
        ((3,), (2, 3), (1,), Broadcasting((2, 3), (1,), (0, 1))),
        ((2, 3), (2,), (0,), Broadcasting((2, 3), (0, 1), (0,))),
        ((2,), (2, 3), (1,), None),
        ((1, 3), (2, 1), None, Broadcasting((2, 3), (0, 1), (0, 1))),
        ((1,), (2, 3), (1,), Broadcasting((2, 3), (1,), (0, 1))),
        ((2, 3), (2, 4), None, None),
        ((0,), (1,), None, Broadcasting((0,), (0,), (0,))),
    ],
)
def test_the_common_shape_of_two_operands(
    lhs: Sizes, rhs: Sizes, dimensions: Sizes | None, found: Broadcasting | None
) -> None:
    assert broadcasting(of(*lhs), of(*rhs), dimensions) == found


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "ids"),
    [
        (of(2), of(2), None, []),
        (of(2), of(2, element="f64"), None, ["P1"]),
        (of(2), of(3), None, ["P2"]),
        (of(3), of(2, 3), None, ["P2"]),
        (of(2, 3), of(2, 3), (1, 0), ["P3"]),
        (of(3), of(2, 3), (2,), ["P3"]),
        (of(3), of(2, 3), (0, 1), ["P3"]),
    ],
)
def test_conditions_of_two_operands(
    lhs: TensorType, rhs: TensorType, dimensions: Sizes | None, ids: list[str]
) -> None:
    found = violations(RECORDS["Add"], lhs, rhs, result=of(2), broadcast_dimensions=dimensions)
    assert [one for one in found if one != "result"] == ids


def test_only_an_operand_of_another_shape_is_broadcast() -> None:
    first, second = lower(RECORDS["Sub"], of(3), of(2, 3), broadcast_dimensions=(1,))
    assert first.name == "broadcast_in_dim"
    assert first.attribute("broadcast_dimensions") == (1,)
    assert second.name == "subtract"
    assert [value.name for value in second.operands] == ["r.0.0", "o1"]
    assert [one.name for one in lower(RECORDS["Sub"], of(3), of(3))] == ["subtract"]


@pytest.mark.parametrize(
    ("op", "element", "direction", "compare_type"),
    [
        ("Lt", "f32", "LT", "FLOAT"),
        ("Ge", "si8", "GE", "SIGNED"),
        ("Eq", "ui8", "EQ", "UNSIGNED"),
        ("Ne", "complex<f32>", "NE", "FLOAT"),
        ("LtTotalOrder", "f32", "LT", "TOTALORDER"),
    ],
)
def test_a_comparison_states_its_type(
    op: str, element: str, direction: str, compare_type: str
) -> None:
    (made,) = lower(RECORDS[op], of(2, element=element), of(2, element=element))
    assert made.attribute("comparison_direction") == direction
    assert made.attribute("compare_type") == compare_type


def test_complex_numbers_have_no_order() -> None:
    assert set(COMPLEX) <= set(RECORDS["Eq"].element_types)
    assert not set(COMPLEX) & set(RECORDS["Lt"].element_types)
    assert all(of.is_float for of in RECORDS["EqTotalOrder"].element_types)


def test_only_functions_state_an_accuracy() -> None:
    assert RECORDS["Exp"].optional == ("result_accuracy",)
    assert "result_accuracy" not in RECORDS["Abs"].attributes

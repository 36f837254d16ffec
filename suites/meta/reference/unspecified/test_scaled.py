"""Scaled operands that bf16 lacks, and sums that the result's type lacks."""

from __future__ import annotations

from reference.ir.program import TensorType
from reference.ir.types import element_type
from reference.ops.xla.contraction import DotDimensionNumbers
from reference.unspecified.scaled import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

F8, E8 = "f8E4M3FN", "f8E8M0FNU"


def product(lhs: list[list[float]], lhs_scale: float, to: str = "f32") -> Found:
    """Return the elements of lhs, with one scale per row, times a column of ones."""
    operands = (
        array(F8, lhs), array(E8, [[lhs_scale]] * len(lhs)),
        array(F8, [[1]] * len(lhs[0])), array(E8, [[1]]),
    )  # fmt: skip
    given = {"dimension_numbers": DotDimensionNumbers((1,), (0,)), "preferred_element_type": to}
    of = TensorType((len(lhs), 1), element_type(to))
    return unspecified_by(REASONS, "ScaledDot", *operands, to=of, **given)


def test_a_scaled_number_beyond_bf16_affects_its_row() -> None:
    label = "scaled operand beyond bf16"
    assert product([[4, 1], [1, 1]], 2.0**126) == {label: [True, False]}
    assert product([[1, 1], [1, 1]], 2.0**126) == {}
    assert product([[float("nan"), 1]], 1.0) == {}


def test_sums_beyond_a_limited_type() -> None:
    label = "overflow in a format without infinity"
    assert product([[448, 448], [1, 1]], 1.0, F8) == {label: [True, False]}
    assert product([[448, 448]], 1.0, "bf16") == {}


def test_a_type_without_zero_has_no_sums() -> None:
    assert "sum of a type without zero" in product([[1, 1]], 1.0, E8)

"""Products of scaled operands: what bf16 does not hold is rounded, and only that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.tolerance.bounds.scaled import SCALED, as_dot_general, factors_of
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.ops.xla.contraction import DotDimensionNumbers
from suites.meta.support.small_programs import array, op_program, tensor_of

U = 2.0**-8
"""Unit roundoff of bf16."""

ONE = array([[1.0]], "bf16")
ROW, COLUMN = array([[1.0, 3.0]], "f16"), array([[2.0], [5.0]], "f16")


def scaled_dot(*operands: Array, to: str = "f32") -> Operation:
    types = [tensor_of(*one.shape, of=element_type_of(one).name) for one in operands]
    given: dict[str, Any] = {"dimension_numbers": DotDimensionNumbers((1,), (0,))}
    return op_program(
        "ScaledDot", types, tensor_of(1, 1, of=to), preferred_element_type=to, **given
    ).subject


def roundings(lhs: Array, scale: Array, to: str = "f32") -> tuple[float, float]:
    """Return the roundoff of lhs, and of the sum before it is converted."""
    operands = lhs, scale, COLUMN, ONE
    _, default = as_dot_general(scaled_dot(*operands, to=to), operands)
    assert default.operands is not None
    assert default.operands[1] == 0  # small integers and a scale of 1
    return default.operands[0], default.intermediate


@pytest.mark.parametrize(
    ("numbers", "scale", "count"),
    [
        ([1.0, 3.0], 4.0, 0),
        ([257.0, 3.0], 1.0, 2),  # the operand, and its product with 1
        ([1.0, 3.0], 257.0, 2),  # the scale, and its product with 1
        ([129.0, 3.0], 3.0, 1),  # the product only: 387
        ([257.0, 3.0], 257.0, 3),
    ],
)
def test_each_array_that_bf16_does_not_hold_is_rounded(
    numbers: list[float], scale: float, count: int
) -> None:
    lhs = array([numbers], "f16")
    assert roundings(lhs, array([[scale]], "f16")) == (count * U, 0)


@pytest.mark.parametrize(("to", "unit"), [("f32", 0.0), ("bf16", 0.0), ("f16", U)])
def test_other_results_may_be_rounded_to_bf16_first(to: str, unit: float) -> None:
    assert roundings(ROW, ONE, to) == (0, unit)


def test_the_dot_general_has_the_dimensions_of_the_op() -> None:
    operands = ROW, ONE, COLUMN, ONE
    product, _ = as_dot_general(scaled_dot(*operands), operands)
    assert product.name == "dot_general"
    assert product.attribute("lhs_contracting_dimensions") == (1,)
    assert product.attribute("rhs_contracting_dimensions") == (0,)


def test_factors_are_operands_times_the_scale_of_their_block() -> None:
    lhs, scale = array([[1.0, 3.0, 5.0, 7.0]], "f16"), array([[2.0, -4.0]], "bf16")
    rhs, one = np.ones((4, 1), np.float16), array([[0.5]], "bf16")
    left, right = factors_of((lhs, scale, rhs, one))
    assert left.tolist() == [[2, 6, -20, -28]]
    assert right.ravel().tolist() == [0.5] * 4
    assert left.dtype == right.dtype == np.float32


@pytest.mark.parametrize(("scale", "bound"), [(1.0, 0.0), (257.0, 2 * U * 17 * 257)])
def test_exact_data_has_no_error_and_a_rounded_scale_its_own(scale: float, bound: float) -> None:
    """1 * 2 + 3 * 5 is 17. Errors of the sum in f32 are 2^-16 of the scale's error."""
    operands = ROW, array([[scale]], "f16"), COLUMN, ONE
    expected = np.full((1, 1), 17 * scale, np.float32)
    assert SCALED.bound is not None
    (found,) = SCALED.bound(scaled_dot(*operands), operands, (expected,))
    assert found is not None
    assert float(found.item()) == pytest.approx(bound, rel=2.0**-13)


@pytest.mark.parametrize(("first", "free"), [(1e-3, False), (2.0**-70, True)])
def test_a_factor_that_bf16_flushes_gives_a_zero_of_either_sign(first: float, free: bool) -> None:
    """2^-70 times a scale of 2^-60 is under 2^-126, the smallest normal number of bf16."""
    scale = array([[2.0**-60 if free else 1.0]], "bf16")
    operands = array([[first, 0.0]], "bf16"), scale, array([[0.0], [1.0]], "bf16"), ONE
    assert SCALED.either_zero is not None
    expected = (np.zeros((1, 1), np.float32),)
    (found,) = SCALED.either_zero(scaled_dot(*operands), operands, expected)
    assert (found is not None and bool(found.item())) is free

"""Rounding by the interpreter: to whole numbers, to fewer bits, after each step."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.interpreter.rounding import LOGISTIC, TO_FEWER_BITS, TO_WHOLE
from reference.interpreter.evaluate import apply
from suites.meta.support.small_programs import array, op_program, tensor_of


def predicted(hypothesis: Hypothesis, op: str, x: list[float], of: str, **given) -> list | None:
    operand = array(x, of)
    types = tensor_of(len(x), of=of)
    operation = op_program(op, [types], types, **given).subject
    assert hypothesis.otherwise is not None
    found = hypothesis.otherwise(operation, (operand,), apply(operation, (operand,)))
    return None if found is None else found[0].astype(np.float64).tolist()


def test_whole_numbers_of_types_below_the_added_constant_are_lost() -> None:
    """The largest number of f4E2M1FN is 6, of f8E3M4 15.5, less than 2^4."""
    found = predicted(TO_WHOLE, "round_nearest_even", [1.5, -2.0, 0.0], "f8E3M4")
    assert found is not None
    assert np.isnan(found[:2]).all()
    assert found[2] == 0
    assert predicted(TO_WHOLE, "round_nearest_even", [1.5], "f32") is None


@pytest.mark.parametrize(
    ("exponent", "mantissa", "x", "found"),
    [
        (8, 7, [1 + 2.0**-8, 1 + 3 * 2.0**-8], [1.0, 1 + 2.0**-6]),
        (5, 23, [65536.0, -1e-8, 1.5], [np.inf, -0.0, 1.5]),
        (8, 23, [1.1], [float(np.float32(1.1))]),
    ],
)
def test_bits_are_rounded_as_in_an_ieee_format(
    exponent: int, mantissa: int, x: list[float], found: list[float]
) -> None:
    given = {"exponent_bits": exponent, "mantissa_bits": mantissa}
    assert predicted(TO_FEWER_BITS, "reduce_precision", x, "f32", **given) == found


def test_nan_stays_unless_no_bit_is_left_for_it() -> None:
    given = {"exponent_bits": 8, "mantissa_bits": 7}
    found = predicted(TO_FEWER_BITS, "reduce_precision", [np.nan], "f32", **given)
    assert found is not None
    assert np.isnan(found).all()


def test_logistic_by_steps_overflows_before_its_result() -> None:
    """exp(90) overflows f32, and the quotient is 0; the logistic of -90 is 8e-40."""
    x = array([-90.0])
    operation = op_program("logistic", [tensor_of(1)], tensor_of(1)).subject
    assert LOGISTIC.errors is not None
    expected = apply(operation, (x,))
    for got, explained in (([0.0], True), ([1.0], False)):
        (errors,) = LOGISTIC.errors(operation, (x,), expected, (array(got),))
        assert bool(errors[0] <= 1) is explained

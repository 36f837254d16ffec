"""NaNs of f8E8M0FNU that are converted to infinity."""

from __future__ import annotations

import numpy as np

from conformance.known.e8m0_nans import CONVERTED, NAME, POWERS_OF_INFINITY
from conformance.known.hypothesis import Hypothesis
from reference.interpreter.evaluate import apply
from suites.meta.support.small_programs import array, op_program, tensor_of


def predicted(hypothesis: Hypothesis, op: str, x: list[float], to: str, of: str = NAME):
    operand = array(x, of)
    operation = op_program(op, [tensor_of(len(x), of=of)], tensor_of(len(x), of=to)).subject
    assert hypothesis.otherwise is not None
    found = hypothesis.otherwise(operation, (operand,), apply(operation, (operand,)))
    return None if found is None else found[0].astype(np.float64).tolist()


def test_converted_nan_is_infinity_and_other_numbers_stay() -> None:
    assert predicted(CONVERTED, "convert", [np.nan, 2.0], "f32") == [np.inf, 2.0]
    assert predicted(CONVERTED, "convert", [np.nan], "f32", of="bf16") is None


def test_function_of_nan_is_that_of_infinity() -> None:
    """f8E8M0FNU has no zero: 1 / sqrt(infinity) is the smallest number."""
    found = predicted(POWERS_OF_INFINITY, "rsqrt", [np.nan, 4.0], NAME)
    assert found == [2.0**-127, 0.5]
    assert predicted(POWERS_OF_INFINITY, "rsqrt", [np.nan], "f32", of="f32") is None

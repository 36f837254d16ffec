"""Results of a backend that replace the reference's after a known divergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.judging.perturbation.overrides import Override, apply_overrides
from reference.ir.program import Operation, Value
from reference.ir.types import Array
from suites.meta.support.small_programs import are_same, array, tensor_of

ADD = Operation(
    "add", (Value("x", tensor_of(3)), Value("y", tensor_of(3))), (Value("r", tensor_of(3)),)
)
WANT = array([1.0, 2.0, 3.0])
GOT = array([1.0, 2.5, np.inf])


def shift(result: Array, expected: Array = WANT, actual: Array = GOT) -> Array:
    (found,) = Override(ADD, (expected,), (actual,)).shift_results((result,))
    return found


def test_on_the_same_operands_the_results_are_the_backends() -> None:
    assert are_same([shift(WANT)], [GOT])


def test_on_nearby_operands_the_results_are_as_far_apart() -> None:
    assert shift(WANT + 1).tolist() == [2.0, 3.5, np.inf]


def test_result_that_becomes_nan_stays_nan() -> None:
    found = shift(array([1.0, np.nan, 3.0]))
    assert np.isnan(found[1])


def test_integers_are_the_backends() -> None:
    want, got = array([1, 2], "si32"), array([1, 9], "si32")
    assert shift(array([5, 5], "si32"), want, got).tolist() == [5, 9]


def test_complex_results_move_by_both_parts() -> None:
    want, got = array([1 + 1j], "complex<f32>"), array([2 + 3j], "complex<f32>")
    assert shift(array([1 + 2j], "complex<f32>"), want, got).tolist() == [2 + 4j]


def test_results_of_another_shape_stay() -> None:
    other = array([7.0])
    assert shift(other) is other


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(ADD), True),
        (replace(ADD, name="subtract"), False),
        (replace(ADD, results=(Value("s", tensor_of(3)),)), False),
    ],
)
def test_override_is_for_one_operation(other: Operation, same: bool) -> None:
    (found,) = apply_overrides(other, (WANT,), [Override(ADD, (WANT,), (GOT,))])
    assert (found is WANT) is not same

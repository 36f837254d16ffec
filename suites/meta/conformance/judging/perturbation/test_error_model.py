"""Tolerances of operations within programs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.lapack.backward_error import Directions
from conformance.judging.perturbation.error_model import shift_elements
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.rounding import to_float64

GRADIENT = """
func.func @main(%x: tensor<6x!E>, %s: tensor<2x!E>, %m: tensor<2x!E>, %v: tensor<2x!E>,
    %g: tensor<3x2x!E>) -> tensor<3x2x!E> {
  %0 = stablehlo.reshape %x : (tensor<6x!E>) -> tensor<3x2x!E>
  %1:3 = "stablehlo.batch_norm_grad"(%0, %s, %m, %v, %g)
    <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
    : (tensor<3x2x!E>, tensor<2x!E>, tensor<2x!E>, tensor<2x!E>, tensor<3x2x!E>)
    -> (tensor<3x2x!E>, tensor<2x!E>, tensor<2x!E>)
  return %1#0 : tensor<3x2x!E>
}""".replace("!E", "f8E4M3FN")


@pytest.mark.parametrize(
    ("place", "got", "is_permitted"),
    [
        # a product of this element's may overflow, which gives NaN in a format without infinities
        ((0, 0), 288.0, True),
        ((0, 0), 320.0, True),  # as XLA for GPUs computes it
        ((0, 0), -448.0, True),
        ((0, 0), np.nan, True),
        # the bound of this element is 2.7
        ((1, 0), -4.5, True),
        ((1, 0), -16.0, False),
        ((1, 0), np.nan, False),
    ],
)
def test_elements_that_may_overflow_have_any_value(
    place: tuple[int, int], got: float, *, is_permitted: bool
) -> None:
    of = ml_dtypes.float8_e4m3fn
    program = parse_module(GRADIENT)
    inputs = [
        np.array(one, of)
        for one in (
            [128, 0, 0, 0, 0, 0], [-0.5, 0], [1, 0], [3, 0], [[0.5625, -0.125], [0.5, 0], [0, 0]],
        )
    ]  # fmt: skip
    (actual,) = evaluate(program, inputs)
    actual[place] = got
    found = judge_program(PermittedResults(program, inputs, Hardware.GPU), (actual,))
    assert (found.verdict is Verdict.PASS) == is_permitted


@pytest.mark.parametrize(
    ("of", "least", "most"),
    [
        ("f8E4M3FN", -448.0, 448.0), ("f8E4M3FNUZ", -240.0, 240.0),
        ("f8E8M0FNU", 2.0**-127, 2.0**127),  # no negative numbers
        ("f8E5M2", -np.inf, np.inf), ("f4E2M1FN", -6.0, 6.0),
    ],
)  # fmt: skip
def test_infinite_tolerances_reach_the_ends_of_a_format(of: str, least: float, most: float) -> None:
    numbers = np.ones(64).astype(ELEMENT_TYPES[of].storage)
    error = np.where(np.arange(64) < 32, np.inf, 0.0)
    random = np.random.default_rng(1)

    def move(directions: Directions) -> Array:
        return to_float64(shift_elements(numbers, error, directions))

    for way, end in ((1.0, most), (-1.0, least)):
        found = move(lambda shape, way=way: np.full(shape, way))
        assert (found == np.where(error == 0, 1.0, end)).all()
    found = move(lambda shape: random.integers(0, 2, shape) * 2.0 - 1.0)[:32]
    has_nan = ELEMENT_TYPES[of].float_format.has_nan and np.isfinite(most)
    assert set(found[np.isfinite(found) | np.isinf(found)]) == {least, most}
    assert np.isnan(found).any() == has_nan


SUM_OF_ONE = """
func.func @main(%x: tensor<1x2xf32>, %s: tensor<2xf32>, %g: tensor<1x2xf32>) -> tensor<2xf32> {
  %h = stablehlo.negate %g : tensor<1x2xf32>
  %1:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %h)
    <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
    : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>)
    -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %1#2 : tensor<2xf32>
}"""


def test_a_zero_within_a_bound_may_have_either_sign() -> None:
    """A sum of -0 alone is -0 or 0: an initial 0 may be added any number of times."""
    one, zero = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
    permitted = PermittedResults(parse_module(SUM_OF_ONE), [one, one[0], zero])
    (expected,) = permitted.expected
    assert (expected == 0).all()
    for sign in (0.0, -0.0):
        got = np.full(2, sign, np.float32)
        assert judge_program(permitted, [got]).verdict is Verdict.PASS
    assert judge_program(permitted, [got + np.float32(1e-9)]).verdict.fails

"""The bits of a computed NaN are unspecified; the bits of a moved NaN are not."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.arbitrary_values import fill_arbitrary, filling, replace_nans
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, from_bits, to_bits

TEXT = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
  %0 = FIRST
  %1 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2xf32>) -> tensor<2xi32>
  %3 = stablehlo.not %2 : tensor<2xi32>
  return %3 : tensor<2xi32>
}"""


@pytest.mark.parametrize(
    ("first", "place", "verdict"),
    [
        ("stablehlo.add %x, %x : tensor<2xf32>", 0, Verdict.UNSPECIFIED),
        ("stablehlo.reverse %x, dims = [0] : tensor<2xf32>", 1, Verdict.DIVERGENT),
    ],
)
def test_visible_bits_of_a_computed_nan_are_unspecified(
    first: str, place: int, verdict: Verdict
) -> None:
    program = parse_module(TEXT.replace("FIRST", first))
    inputs = [np.array([np.nan, 2.0], np.float32)]
    (expected,) = evaluate(program, inputs)
    other, wrong = expected.copy(), expected.copy()
    other[place] ^= 256  # another payload
    wrong[1 - place] ^= 1 << 20
    assert judge_program(PermittedResults(program, inputs), [other]).verdict is verdict
    assert judge_program(PermittedResults(program, inputs), [wrong]).verdict is Verdict.DIVERGENT


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f4E2M1FN"])
def test_other_nans_are_nans(name: str) -> None:
    of = ELEMENT_TYPES[name]
    codes = np.arange(1 << of.bits).astype(to_bits(np.zeros(1, of.storage)).dtype)
    numbers = from_bits(codes, of)
    other = replace_nans(numbers, np.random.default_rng(1))
    with np.errstate(invalid="ignore"):  # signaling ones
        nan = np.isnan(numbers)
        assert (np.isnan(other) == nan).all()
    assert (to_bits(other)[~nan] == to_bits(numbers)[~nan]).all()


OVERFLOWING = """
func.func @main(%x: tensor<2x999xcomplex<f64>>) -> tensor<999xcomplex<f64>> {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %0 = stablehlo.multiply %x, %x : tensor<2x999xcomplex<f64>>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2x999xcomplex<f64>>, tensor<complex<f64>>) -> tensor<999xcomplex<f64>>
  return %1 : tensor<999xcomplex<f64>>
}"""


def test_results_of_unspecified_numbers_are_not_nan_by_chance() -> None:
    """Both products of each sum overflow, and complex arithmetic leaves unspecified to what."""
    program = parse_module(OVERFLOWING)
    inputs = [np.stack([np.full(999, 1e200 + 1e200j), np.full(999, 1e200 - 1e200j)])]
    permitted = PermittedResults(program, inputs)
    found = judge_program(permitted, [np.full(999, complex(np.nan, -np.inf))])
    assert found.verdict is Verdict.UNSPECIFIED
    assert found.failing == ()


def test_fillings_are_of_one_kind() -> None:
    mask, random = np.array([True, True, False] * 50), np.random.default_rng(0)
    zeros = np.zeros(150, np.complex64)
    nans, finite = (fill_arbitrary(zeros, mask, random, filling(n)) for n in (0, 1))
    assert np.isnan(nans.real[mask]).all()
    assert np.isnan(nans.imag[mask]).all()
    assert np.isfinite(finite).all()
    assert len(np.unique(finite[mask])) > 9
    assert not finite[~mask].any()
    many = fill_arbitrary(zeros, mask, random, filling(2))[mask]
    assert np.isinf(many.imag[np.isfinite(many.real)]).any()

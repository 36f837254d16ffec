"""The bits of a computed NaN are unspecified; those of a moved NaN are not."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.arbitrary_values import replace_nans
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

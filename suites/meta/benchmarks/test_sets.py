"""Shares of results with a set: unspecified elements do not count, points are known."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from benchmarks import sets
from benchmarks.sets import all_values, programs_with_inputs, specified_elements
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.sets.value_set import ValueSet
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check
from reference.ir.types import ELEMENT_TYPES

SHIFT = """
func.func @main(%x: tensor<2xui8>, %by: tensor<2xui8>) -> tensor<2xui8> {
  %0 = stablehlo.shift_left %x, %by : tensor<2xui8>
  return %0 : tensor<2xui8>
}"""


def test_elements_that_change_with_unspecified_results_do_not_count() -> None:
    given = [np.array([1, 1], np.uint8), np.array([2, 9], np.uint8)]  # by 9 bits is unspecified
    (mask,) = specified_elements(PermittedResults(parse_module(SHIFT), given))
    assert mask.tolist() == [True, False]


@pytest.mark.parametrize("of", ["f32", "si8", "complex<f32>"])
def test_all_values_of_a_type_are_told_from_points(of: str) -> None:
    every = ValueSet.everything((2,), ELEMENT_TYPES[of])
    assert all_values(every).all()
    assert not all_values(ValueSet.of(every.intervals[0][1])).any()


def test_programs_of_a_campaign_are_followed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(check(program) == [] for program, _ in islice(programs_with_inputs(0), 3))
    monkeypatch.setattr("sys.argv", ["sets", "--programs", "20"])
    monkeypatch.setattr(sets.evaluation, "Enclosures", sets.evaluation.Enclosures)
    sets.main()
    assert "0 programs cannot be followed" in capsys.readouterr().out

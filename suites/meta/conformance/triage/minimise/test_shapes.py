"""Sizes become smaller wherever they occur, as long as the program fails."""

from __future__ import annotations

from math import inf

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.attempts import Minimisation
from conformance.triage.minimise.shapes import count_elements, shrink_shapes
from reference.ir.program import Program
from reference.ir.types import Array

PROGRAM = parse_module("""
func.func @main(%x: tensor<6x4xf32>) -> tensor<24xf32> {
  %0 = stablehlo.negate %x : tensor<6x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<6x4xf32>) -> tensor<24xf32>
  return %1 : tensor<24xf32>
}""")
X = np.arange(24, dtype=np.float32).reshape(6, 4)


def shrink(fails, left: int = 200) -> tuple[bool, Minimisation]:
    attempts = Minimisation(fails, PROGRAM, (X,), left, inf)
    return shrink_shapes(attempts), attempts


def test_a_size_and_its_product_become_smaller_together() -> None:
    shrunk, attempts = shrink(lambda *_: True)
    assert shrunk
    assert attempts.inputs[0].size < 24
    (result,) = attempts.program.main.result_types
    assert result.shape == (attempts.inputs[0].size,)


def test_sizes_that_the_failure_needs_stay() -> None:
    shrunk, attempts = shrink(lambda _, inputs: inputs[0].shape[0] >= 3)
    assert shrunk
    assert attempts.inputs[0].shape[0] == 3


def test_the_last_elements_are_tried_too() -> None:
    def has_last(_: Program, inputs: tuple[Array, ...]) -> bool:
        return bool((inputs[0] == 23).any())

    shrunk, attempts = shrink(has_last)
    assert shrunk
    assert attempts.inputs[0].reshape(-1)[-1] == 23


def test_a_program_that_never_fails_again_stays() -> None:
    shrunk, attempts = shrink(lambda *_: False)
    assert not shrunk
    assert attempts.program == PROGRAM
    assert shrink(lambda *_: True, left=0)[0] is False


def test_elements_of_parameters_and_results_are_counted() -> None:
    assert count_elements(PROGRAM) == 48

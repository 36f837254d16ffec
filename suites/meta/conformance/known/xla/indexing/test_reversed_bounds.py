"""Slices of a reversed value with a dynamic size, from the sum of two starts."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.xla.indexing.reversed_bounds import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict

PROGRAM = """
func.func @main(%x: tensor<6xi8>, %n: tensor<i32>, %i: tensor<{of}>) -> tensor<2xi8> {{
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 :
    (tensor<6xi8>, tensor<i32>) -> tensor<?xi8, #stablehlo.bounds<6>>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<?xi8, #stablehlo.bounds<6>>
  %2 = stablehlo.dynamic_slice %1, %i, sizes = [2] :
    (tensor<?xi8, #stablehlo.bounds<6>>, tensor<{of}>) -> tensor<2xi8>
  return %2 : tensor<2xi8>
}}"""

RESHAPED = """
func.func @main(%x: tensor<6xi8>, %n: tensor<1xi32>, %i: tensor<{of}>) -> tensor<2xi8> {{
  %0 = stablehlo.dynamic_reshape %x, %n :
    (tensor<6xi8>, tensor<1xi32>) -> tensor<?xi8, #stablehlo.bounds<BOUND>>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<?xi8, #stablehlo.bounds<BOUND>>
  %2 = stablehlo.dynamic_slice %1, %i, sizes = [2] :
    (tensor<?xi8, #stablehlo.bounds<BOUND>>, tensor<{of}>) -> tensor<2xi8>
  return %2 : tensor<2xi8>
}}"""


def kind_of(
    size: int, start: int, got: tuple[int, int], of: str = "i32", text: str = PROGRAM
) -> str:
    """Return the class of a slice of 6, 5, 4, 3, 2, 1 cut to a size; "" if it is right."""
    x = np.arange(1, 7, dtype=np.int8)
    sizes = np.full((1,) if text != PROGRAM else (), size, np.int32)
    inputs = (x, sizes, np.array(start, {"i32": np.int32, "i64": np.int64}[of]))
    permitted = PermittedResults(parse_module(text.format(of=of)), inputs, Hardware.GPU)
    judged = judge_program(permitted, (np.array(got, np.int8),))
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


@pytest.mark.parametrize(
    ("size", "start", "got"),
    [(3, -5, (6, 5)), (3, -1, (4, 3)), (5, -5, (6, 5)), (6, 5, (1, 0)), (6, 9, (0, 0))],
)
def test_results_measured_for_gpu_and_tpu_are_predicted(
    size: int, start: int, got: tuple[int, int]
) -> None:
    assert kind_of(size, start, got) == LABEL
    assert kind_of(size, start, got, of="i64") == LABEL


def test_nothing_else_is() -> None:
    assert kind_of(3, 1, (2, 1)) == ""
    assert kind_of(3, -1, (5, 4)) not in (LABEL, "")


def test_a_dynamic_reshape_of_the_bounds_sets_a_size() -> None:
    text = RESHAPED.replace("BOUND", "6")
    assert kind_of(6, 5, (2, 1), text=text) == ""
    assert kind_of(6, 5, (1, 0), text=text) == LABEL
    assert kind_of(6, 5, (0, 0), text=text) not in (LABEL, "")
    assert kind_of(6, 5, (1, 0), text=RESHAPED.replace("BOUND", "7")) not in (LABEL, "")

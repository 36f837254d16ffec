"""Transforms of two rows of real numbers, computed as one by an NVIDIA H200."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.paired_transforms import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

PROGRAM = parse_module("""
func.func @main(%x: tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [9] : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
  return %0 : tensor<3x5xcomplex<f32>>
}""")


def class_of(size: float, row: int, on: str = Hardware.GPU) -> str:
    """Return the class of errors of a size in a row, where the second row alone is not zero."""
    x = np.zeros((3, 9), np.float32)
    x[1, 3:] = 1
    expected = evaluate(PROGRAM, (x,))
    got = expected[0].copy()
    got[row] += np.complex64(size)
    return judge_operation(PROGRAM, (x,), expected, (got,), platform=on).kind


@pytest.mark.parametrize(("size", "row"), [(1e-7, 0), (1e-6, 0)])
def test_an_error_may_be_of_the_other_row(size: float, row: int) -> None:
    """The bound is 4 u log2(9) times the norm of the result, which is sqrt(9 * 6): 5.6e-6."""
    assert class_of(size, row) == LABEL
    assert class_of(size, row, on=Hardware.CPU) not in (LABEL, "")


@pytest.mark.parametrize(("size", "row"), [(1e-5, 0), (1e-7, 2)])
def test_no_other_error_is_of_the_class(size: float, row: int) -> None:
    assert class_of(size, row) not in (LABEL, "")


def test_errors_within_the_bound_of_a_row_are_permitted() -> None:
    assert class_of(1e-7, 1) == ""

"""Sums of products of complex numbers by three real products."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.three_products import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

PROGRAM = """
func.func @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<complex<f32>> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
    : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}"""

X = np.array([3e38 + 3e38j, 1], np.complex64)
"""Real and imaginary part have an infinite sum."""


@pytest.mark.parametrize(
    ("y", "actual", "platform", "is_known"),
    [
        ([0, 0], complex(np.nan, np.nan), Hardware.TPU, True),
        ([0, 0], complex(np.nan, 0), Hardware.TPU, False),
        ([0, 0], complex(np.nan, np.nan), Hardware.CPU, False),
        ([1e-38, 1], complex(np.inf, np.inf), Hardware.TPU, True),
        ([1e-38, 1], complex(np.inf, 1e38), Hardware.TPU, False),
        ([1e-38j, 1], complex(1, 1), Hardware.TPU, False),
    ],
)
def test_sums_that_overflow(
    y: list[complex], actual: complex, platform: str, is_known: bool
) -> None:
    program = parse_module(PROGRAM)
    inputs = [X, np.array(y, np.complex64)]
    got = [np.array(actual, np.complex64)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, platform)
    assert ({one.kind for one in found.failing} == {LABEL}) == is_known

"""Start indices of slices read as signed numbers: all of them, or only constants."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

SLICE = """
func.func @main(%x: tensor<2x3xf32>, %i: tensor<ui8>, %j: tensor<ui8>) -> tensor<1x1xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1]
    : (tensor<2x3xf32>, tensor<ui8>, tensor<ui8>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
"""
UPDATE = """
func.func @main(%x: tensor<3xf32>, %u: tensor<1xf32>, %i: tensor<ui8>) -> tensor<3xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i
    : (tensor<3xf32>, tensor<1xf32>, tensor<ui8>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
GATHER = """
func.func @main(%x: tensor<3xf32>, %i: tensor<1xui8>) -> tensor<1xf32> {
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>,
    slice_sizes = array<i64: 1>
  } : (tensor<3xf32>, tensor<1xui8>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
"""
SIGNED = "unsigned index taken for signed"


@pytest.mark.parametrize(
    ("starts", "actual", "kind"),
    [
        ((200, 200), 5, ""),
        ((200, 200), 0, SIGNED),
        ((200, 200), 2, SIGNED),  # the first of them alone
        ((200, 200), 3, SIGNED),
        ((200, 200), 4, "wrong value"),
        ((100, 200), 3, SIGNED),
        ((100, 200), 2, "wrong value"),  # 100 is no other number as a signed one
        ((1, 2), 0, "wrong value"),
    ],
)
def test_an_unsigned_index_of_a_slice_read_as_signed_has_a_class(
    starts: tuple[int, int], actual: int, kind: str
) -> None:
    inputs = np.arange(6, dtype=np.float32).reshape(2, 3), *np.array(starts, np.uint8)
    assert _kind(SLICE, inputs, np.array([[actual]], np.float32)) == kind


@pytest.mark.parametrize(
    ("actual", "kind"), [([0, 1, 9], ""), ([9, 1, 2], SIGNED), ([0, 1, 8], "wrong value")]
)
def test_an_unsigned_index_of_an_update_read_as_signed_has_a_class(
    actual: list[float], kind: str
) -> None:
    inputs = np.arange(3, dtype=np.float32), np.array([9], np.float32), np.uint8(255)
    assert _kind(UPDATE, inputs, np.array(actual, np.float32)) == kind


@pytest.mark.parametrize(
    ("operand", "actual", "kind"),
    [
        ([0, 1, 2], 2, ""),
        ([0, 1, 2], 0, SIGNED),
        ([0, 1, 2], 1, "wrong value"),
        ([np.nan, 1, np.nan], -np.nan, ""),  # a NaN wherever the slice starts
    ],
)
def test_a_start_index_of_a_gather_read_as_signed_has_a_class(
    operand: list[float], actual: float, kind: str
) -> None:
    inputs = np.array(operand, np.float32), np.array([200], np.uint8)
    assert _kind(GATHER, inputs, np.array([actual], np.float32)) == kind


def _kind(text: str, inputs: tuple[np.ndarray | np.generic, ...], actual: np.ndarray) -> str:
    program, given = parse_module(text), [np.asarray(x) for x in inputs]
    op = program.main.body.operations[0].name
    expected = evaluate(program, given)
    return judge(program, given, expected, (actual,), CATALOG[op].tolerance).kind

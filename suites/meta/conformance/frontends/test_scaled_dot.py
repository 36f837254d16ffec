"""ScaledDot as jax writes it: a composite with a decomposition of its own, read and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checking.settings import Settings
from conformance.verdict import Verdict
from suites.meta.support.checking import check_text

SCALED = """
func.func @main(%x: tensor<4x64xf8E4M3FN>, %y: tensor<64x4xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>)
    -> tensor<4x4xf32> {
  %0 = stablehlo.composite "xla.scaled_dot" %x, %y, %s {
    composite_attributes = {dimension_numbers = [[[1], [0]], [[], []]],
                            preferred_element_type = f32},
    decomposition = @scaled
  } : (tensor<4x64xf8E4M3FN>, tensor<64x4xf8E4M3FN>, tensor<4x2xf8E8M0FNU>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @scaled(%x: tensor<4x64xf8E4M3FN>, %y: tensor<64x4xf8E4M3FN>,
                          %s: tensor<4x2xf8E8M0FNU>) -> tensor<4x4xf32> {
  %0 = stablehlo.broadcast_in_dim %s, dims = [0, 1]
    : (tensor<4x2xf8E8M0FNU>) -> tensor<4x2x32xf8E8M0FNU>
  %1 = stablehlo.reshape %0 : (tensor<4x2x32xf8E8M0FNU>) -> tensor<4x64xf8E8M0FNU>
  %2 = stablehlo.convert %1 : (tensor<4x64xf8E8M0FNU>) -> tensor<4x64xbf16>
  %3 = stablehlo.convert %x : (tensor<4x64xf8E4M3FN>) -> tensor<4x64xbf16>
  %4 = stablehlo.multiply %3, %2 : tensor<4x64xbf16>
  %5 = stablehlo.convert %y : (tensor<64x4xf8E4M3FN>) -> tensor<64x4xbf16>
  %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0]
    : (tensor<4x64xbf16>, tensor<64x4xbf16>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
"""


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [("cpu", Verdict.PASS), ("reference:one_wrong_element", Verdict.DIVERGENT)],
)
def test_scaled_dot_is_judged_by_its_own_rule(
    tmp_path: Path, backend: str, verdict: Verdict
) -> None:
    assert check_text(tmp_path, SCALED, Settings(backend)).verdict is verdict

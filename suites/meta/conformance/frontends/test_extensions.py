"""Programs that break a constraint as an extension permits: judged, with a note."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.catalog import CATALOG
from conformance.checking.settings import Settings
from conformance.frontends.extensions import EXTENSIONS, extension, unpermitted_violations
from conformance.verdict import Verdict
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import element_type
from suites.meta.support.checking import check_text

CONVOLUTION = """
func.func @main(%x: tensor<1x4x4x2x{0}>, %k: tensor<2x2x2x3x{1}>) -> tensor<1x3x3x3x{2}> {{
  %0 = stablehlo.convolution(%x, %k)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [1, 1], pad = [[0, 0], [0, 0]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x4x4x2x{0}>, tensor<2x2x2x3x{1}>) -> tensor<1x3x3x3x{2}>
  %1 = stablehlo.{3} %0 : tensor<1x3x3x3x{2}>
  return %1 : tensor<1x3x3x3x{2}>
}}"""


@pytest.mark.parametrize("types", [("bf16", "f32"), ("i8", "i32"), ("i16", "f32")])
def test_a_convolution_of_wider_results_is_judged_with_a_note(
    types: tuple[str, str], tmp_path: Path
) -> None:
    narrow, wide = types
    text = CONVOLUTION.format(narrow, narrow, wide, "negate")
    for settings in (Settings("cpu"), Settings("reference")):
        found = check_text(tmp_path, text, settings)
        assert found.verdict is Verdict.PASS
        assert found.message.startswith("breaks C27 of convolution: the result's element type ")


DOT = """
func.func @main(%x: tensor<3x4x{0}>, %y: tensor<4x5x{1}>) -> tensor<3x5xf32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<3x4x{0}>, tensor<4x5x{1}>) -> tensor<3x5xf32>
  %1 = stablehlo.{2} %0 : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}}"""


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_product_of_two_types_is_judged_with_a_note(backend: str, tmp_path: Path) -> None:
    text = DOT.format("f8E5M2", "f8E4M3FN", "negate")
    found = check_text(tmp_path, text, Settings(backend))
    assert found.verdict is Verdict.PASS
    assert found.message.startswith("breaks C13 of dot_general: the operands are of two floating")
    text = DOT.format("i8", "f8E4M3FN", "negate")
    assert check_text(tmp_path, text, Settings(backend)).verdict.fails


def test_other_violations_are_not_extensions() -> None:
    for types in (("bf16", "f32", "f32"), ("f32", "bf16", "bf16")):
        values = [Value(str(n), TensorType((1,), element_type(of))) for n, of in enumerate(types)]
        operation = Operation("convolution", tuple(values[:2]), tuple(values[2:]))
        assert extension(operation, "C27") is None
        alike = replace(operation, operands=(values[0], values[0]))
        assert extension(alike, "C27") in EXTENSIONS
        assert unpermitted_violations([(alike, ("C27", "C26"))])[0] == [(alike, ("C26",))]
    assert all(one.id in CATALOG[op].constraints for one in EXTENSIONS for op in one.ops)

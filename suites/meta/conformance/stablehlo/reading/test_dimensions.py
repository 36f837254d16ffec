"""Types with more dimensions than numpy permits are refused with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checking.describing import describe_file
from conformance.fuzzing.seeds.files import cut_files
from conformance.verdict import Verdict
from suites.meta.support.checking import check_text

MANY = f"tensor<{'1x' * 65}f32>"
UNKNOWN = f"tensor<{'?x' * 65}f32>"

PROGRAMS = {
    "parameter": f"""
func.func @main(%x: {MANY}) -> {MANY} {{
  %0 = stablehlo.negate %x : {MANY}
  return %0 : {MANY}
}}""",
    "value": f"""
func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.reshape %x : (tensor<f32>) -> {MANY}
  %1 = stablehlo.reshape %0 : ({MANY}) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
    "constant": f"""
func.func @main() -> tensor<f32> {{
  %0 = stablehlo.constant dense<1.0> : {MANY}
  %1 = stablehlo.reshape %0 : ({MANY}) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
    "tuple": f"""
func.func @main(%x: tuple<{MANY}>) -> {MANY} {{
  %0 = stablehlo.get_tuple_element %x[0] : (tuple<{MANY}>) -> {MANY}
  return %0 : {MANY}
}}""",
    "unknown sizes": f"""
func.func @main(%x: tensor<f32>, %s: tensor<65xi32>, %n: tensor<0xi32>) -> tensor<f32> {{
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<f32>, tensor<65xi32>) -> {UNKNOWN}
  %1 = stablehlo.dynamic_reshape %0, %n : ({UNKNOWN}, tensor<0xi32>) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
}


@pytest.mark.parametrize("where", PROGRAMS)
def test_more_dimensions_than_numpy_has_are_refused_in_words(where: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, PROGRAMS[where])
    assert (found.verdict, found.kind) == (Verdict.NOT_JUDGED, "not read")
    assert "a tensor of 65 dimensions is not read" in found.message
    file = tmp_path / "program.mlir"
    assert "65 dimensions" in describe_file(str(file))[0]["reason"]
    assert "65 dimensions" in cut_files([file]).notes[0]


def test_as_many_dimensions_as_numpy_has_are_read(tmp_path: Path) -> None:
    text = PROGRAMS["value"].replace(MANY, f"tensor<{'1x' * 64}f32>")
    assert check_text(tmp_path, text).verdict is Verdict.PASS

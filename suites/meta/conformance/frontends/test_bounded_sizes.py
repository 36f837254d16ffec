"""Programs whose sizes are known up to a bound: read, written, evaluated, judged on XLA's CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.checking.settings import Settings
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import check, evaluate
from suites.meta.support.checking import check_text

BOUNDED = "tensor<?xf32, #stablehlo.bounds<10>>"
SUM = f"""
func.func @main(%v: tensor<10xf32>, %size: tensor<i32>) -> (tensor<f32>, tensor<i32>) {{
  %cut = "stablehlo.set_dimension_size"(%v, %size) {{dimension = 0 : i64}}
    : (tensor<10xf32>, tensor<i32>) -> {BOUNDED}
  %twice = stablehlo.add %cut, %cut : {BOUNDED}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%twice init: %zero) applies stablehlo.add across dimensions = [0]
    : ({BOUNDED}, tensor<f32>) -> tensor<f32>
  %count = "stablehlo.get_dimension_size"(%cut) {{dimension = 0 : i64}} : ({BOUNDED}) -> tensor<i32>
  return %sum, %count : tensor<f32>, tensor<i32>
}}
"""
OUT = f"""
func.func @main(%v: tensor<10xf32>, %size: tensor<i32>) -> {BOUNDED} {{
  %cut = "stablehlo.set_dimension_size"(%v, %size) {{dimension = 0 : i64}}
    : (tensor<10xf32>, tensor<i32>) -> {BOUNDED}
  return %cut : {BOUNDED}
}}
"""
NUMBERS = np.arange(1, 11, dtype=np.float32)


def of(folder: Path, backend: str, size: int) -> Settings:
    archive = folder / "inputs.npz"
    np.savez(archive, v=NUMBERS, size=np.array(size, np.int32))
    return Settings(backend, inputs=archive)


@pytest.mark.parametrize("size", [0, 1, 5, 6, 10])
def test_padding_is_no_part_of_a_sum(tmp_path: Path, size: int) -> None:
    """The page's example, "SetDimensionSize": sums of the first five and of the first six."""
    program = parse_module(SUM)
    assert check(program) == []
    total, count = evaluate(program, (NUMBERS, np.array(size, np.int32)))
    assert (total, count) == (size * (size + 1), size)
    assert check_text(tmp_path, SUM, of(tmp_path, "cpu", size)).verdict is Verdict.PASS


def test_a_wrong_sum_is_found(tmp_path: Path) -> None:
    settings = of(tmp_path, "reference:one_wrong_element", 5)
    assert check_text(tmp_path, SUM, settings).verdict is Verdict.DIVERGENT


def test_bounds_are_written_and_read() -> None:
    program = parse_module(SUM)
    cut = program.main.body.operations[0].results[0].type
    assert cut.bounds == (10,)  # type: ignore[union-attr]
    assert emit(program).count("#stablehlo.bounds<10>") == emit(parse_module(emit(program))).count(
        "#stablehlo.bounds<10>"
    )
    assert "#stablehlo.bounds<10>" in emit(program)


def test_results_of_bounded_size_are_unsupported(tmp_path: Path) -> None:
    found = check_text(tmp_path, OUT, of(tmp_path, "cpu", 5))
    assert found.verdict is Verdict.UNSUPPORTED
    assert "sizes of results of bounded size" in found.message
    assert check_text(tmp_path, OUT, of(tmp_path, "reference", 5)).verdict is Verdict.PASS


def test_sizes_beyond_the_bound_are_no_programs_fault(tmp_path: Path) -> None:
    found = check_text(tmp_path, SUM, of(tmp_path, "cpu", 11))
    assert found.verdict is Verdict.NOT_JUDGED
    assert "size 11 of a dimension of 10" in found.message

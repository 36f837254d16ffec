"""Sharded programs on compilers without their device: a partitioner's module is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.compiled.backend import CompiledBackend
from conformance.backends.compiled.modules import read_back
from conformance.backends.session import cached_backend, open_session
from conformance.checking.settings import Settings
from conformance.errors import NotAvailable
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ops.structure import COMMUNICATION
from suites.meta.support.checking import check_text
from suites.meta.support.small_programs import are_same, array
from suites.published_bugs import bugs

SHARDY = """
module attributes {mhlo.num_partitions = COUNT : i32, mhlo.num_replicas = 1 : i32} {
sdy.mesh @mesh = <["x"=COUNT]>
func.func @main(
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8xf32>
}
}"""
GSPMD = """
module attributes {mhlo.num_partitions = COUNT : i32, mhlo.num_replicas = 1 : i32} {
func.func @main(%x: tensor<8x16xi32> {mhlo.sharding = "{devices=[COUNT,1]<=[COUNT]}"})
    -> (tensor<16x8xi32> {mhlo.sharding = "{devices=[COUNT,1]<=[COUNT]}"},
        tensor<8x16xi32> {mhlo.sharding = "{replicated}"}) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x16xi32>) -> tensor<16x8xi32>
  %1 = stablehlo.reverse %x, dims = [0] : tensor<8x16xi32>
  return %0, %1 : tensor<16x8xi32>, tensor<8x16xi32>
}
}"""


@pytest.fixture(params=["cpu-compile", "gpu-compile", "tpu-compile"])
def backend(request: pytest.FixtureRequest) -> str:
    """Return the name of each installed compiler."""
    try:
        open_session(request.param)
    except NotAvailable as error:
        pytest.skip(str(error))
    return str(request.param)


@pytest.mark.parametrize("count", ["2", "8"])
@pytest.mark.parametrize("text", [SHARDY, GSPMD], ids=["shardy", "gspmd"])
def test_a_sharded_program_keeps_its_meaning(
    text: str, count: str, backend: str, tmp_path: Path
) -> None:
    found = check_text(tmp_path, text.replace("COUNT", count), Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


def test_its_module_is_a_program_of_a_process_for_each_partition(backend: str) -> None:
    text = SHARDY.replace("COUNT", "2")
    program, compiler = parse_module(text), cached_backend(backend)
    assert isinstance(compiler, CompiledBackend)
    read = read_back(compiler.optimise(text, program), program)
    assert read.program.process_grid == (1, 2)
    assert read.program.main.arguments[0].type.shape == (8, 8)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert {operation.name for operation in read.program.walk()} & COMMUNICATION
    ones = [array([[1.0] * 16] * 8), array([[1.0] * 8] * 16)]
    product, total = read.evaluate(ones)
    assert are_same([product, total], [array([[16.0] * 8] * 8), array([128.0] * 8)])


def test_the_pass_that_partitions_wrongly_is_named(backend: str, tmp_path: Path) -> None:
    (bug,) = (bug for bug in bugs() if bug.id == "xla-49118-partitioned-update-past-the-end")
    text = bug.program.replace("%zero, %start", "%zero, %past").replace(
        "  %zero =", "  %past = stablehlo.constant dense<2> : tensor<i32>\n  %zero ="
    )
    found = check_text(tmp_path, text, Settings(backend))
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")
    assert "spmd-partitioning" in found.message

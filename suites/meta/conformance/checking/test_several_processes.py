"""Programs of several processes and devices: replicas, exports of jax, GSPMD and Shardy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.checking.settings import Settings
from conformance.frontends.arguments import InputsError
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from suites.meta.support.checking import check_text

REPLICAS = """
module attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%w: tensor<4x3xf32>, %x: tensor<8x4xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.tanh %0 : tensor<8x3xf32>
    %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0]
      : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %3 = "stablehlo.all_reduce"(%2) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
      : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.subtract %w, %3 : tensor<4x3xf32>
    return %4 : tensor<4x3xf32>
  }
}
"""

SUM = """"stablehlo.all_reduce"(%x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<3xf32>) ->
      tensor<3xf32>
"""
_WRITTEN = {
    "if": ("i1", f"""%0 = "stablehlo.if"(%p) ({{
      %1 = {SUM}      stablehlo.return %1 : tensor<3xf32>
    }}, {{
      stablehlo.return %x : tensor<3xf32>
    }}) : (tensor<i1>) -> tensor<3xf32>"""),
    "case": ("i32", f"""%0 = "stablehlo.case"(%p) ({{
      stablehlo.return %x : tensor<3xf32>
    }}, {{
      %1 = {SUM}      stablehlo.return %1 : tensor<3xf32>
    }}) : (tensor<i32>) -> tensor<3xf32>"""),
    "while": ("i32", f"""%z = stablehlo.constant dense<0> : tensor<i32>
    %n, %0 = "stablehlo.while"(%z, %x) ({{
    ^bb0(%c: tensor<i32>, %y: tensor<3xf32>):
      %t = stablehlo.compare LT, %c, %p : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }}, {{
    ^bb0(%c: tensor<i32>, %y: tensor<3xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %c, %one : tensor<i32>
      %1 = {SUM.replace("%x", "%y")}      stablehlo.return %next, %1 : tensor<i32>, tensor<3xf32>
    }}) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)"""),
}  # fmt: skip
CHOSEN = {
    name: f"""
module attributes {{mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32}} {{
  func.func @main(%p: tensor<{of}>, %x: tensor<3xf32>) -> tensor<3xf32> {{
    {text}
    return %0 : tensor<3xf32>
  }}
}}
"""
    for name, (of, text) in _WRITTEN.items()
}
"""Programs in which a parameter decides whether, and how often, processes communicate."""


CPU = Settings("cpu")


SPLIT = "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64"


@pytest.mark.parametrize("grid", ["2", "1", ""])
@pytest.mark.parametrize(
    ("op", "given", "result", "id_"),
    [
        ("all_gather", "all_gather_dim = 0 : i64", "8", "C3"),
        ("all_reduce", "", "4", "C2"),
        ("all_to_all", SPLIT, "4", "C8"),
        ("reduce_scatter", "scatter_dimension = 0 : i64", "2", "C4"),
    ],
)  # fmt: skip
def test_groups_that_are_empty_break_their_constraint(
    tmp_path: Path, op: str, given: str, result: str, id_: str, grid: str
) -> None:
    """There is at least one replica, whether or not the program states their number."""
    folds = "(" + SUM.partition("(%x) (")[2].partition("})")[0] + "})"
    module = f"attributes {{mhlo.num_replicas = {grid} : i32}}" if grid else ""
    groups = "replica_groups = dense<> : tensor<0x0xi64>"
    text = f"""module {module} {{
      func.func @main(%x: tensor<4xf32>) -> tensor<{result}xf32> {{
        %0 = "stablehlo.{op}"(%x) {folds if "reduce" in op else ""} {{
          {", ".join(filter(None, (given, groups)))}
        }} : (tensor<4xf32>) -> tensor<{result}xf32>
        return %0 : tensor<{result}xf32>
      }}
    }}"""
    found = check_text(tmp_path, text)
    assert (found.verdict, found.kind) == (Verdict.REJECTED, "invalid program"), found
    assert id_ in found.message, found
    assert "is in no group" not in found.message


def test_programs_of_replicas_are_judged_on_virtual_devices(tmp_path: Path) -> None:
    assert check_text(tmp_path, REPLICAS, CPU).verdict is Verdict.PASS


@pytest.mark.parametrize("construct", ["if", "case", "while"])
def test_drawn_inputs_take_all_processes_to_the_same_branch(tmp_path: Path, construct: str) -> None:
    """A collective in a branch or a loop: processes that go other ways would wait for ever."""
    found = check_text(tmp_path, CHOSEN[construct], CPU)
    assert found.verdict is Verdict.PASS, found


def test_archives_of_inputs_have_the_processes_first(tmp_path: Path) -> None:
    archive = tmp_path / "inputs.npz"
    arrays = {"w": np.ones((4, 4, 3), np.float32), "x": np.ones((4, 8, 4), np.float32)}
    np.savez(archive, **arrays)
    assert check_text(tmp_path, REPLICAS, Settings("cpu", inputs=archive)).verdict is Verdict.PASS
    np.savez(archive, **{name: array[0] for name, array in arrays.items()})
    with pytest.raises(InputsError, match="for 4 processes its first dimension must be 4"):
        check_text(tmp_path, REPLICAS, Settings("cpu", inputs=archive.with_suffix(".npz")))


SHARDED = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(
      %arg0: tensor<16x4xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"},
      %arg1: tensor<4x4xf32> {mhlo.sharding = "{replicated}"})
      -> (tensor<16x4xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,4]<=[8]}"}
      : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %2 = stablehlo.tanh %1 : tensor<16x4xf32>
    return %2 : tensor<16x4xf32>
  }
}"""


def test_an_annotated_program_is_shared_out_and_passes(tmp_path: Path) -> None:
    program = parse_module(SHARDED)
    assert (program.process_count, program.shared_among) == (1, 8)
    found = check_text(tmp_path, SHARDED, Settings("cpu"))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


def test_faulty_operation_in_sharded_program_is_located(tmp_path: Path) -> None:
    found = check_text(tmp_path, SHARDED, Settings("reference:low_precision"))
    assert found.verdict.fails
    assert found.operation.startswith(("dot_general", "tanh"))


GSPMD = """
module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "",
      mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "",
      mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.custom_call @Sharding(%arg1) {backend_config = "",
      mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}
      : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {backend_config = "",
      mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = call @shmap_body(%1, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.custom_call @Sharding(%4) {backend_config = "", mhlo.sharding = "{manual}"}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {backend_config = "",
      mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}
      : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %7 = stablehlo.tanh %6 : tensor<8x4xf32>
    return %7 : tensor<8x4xf32>
  }
  func.func private @shmap_body(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>)
      -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.all_reduce"(%0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}"""


def test_shard_map_in_the_form_of_gspmd_passes(tmp_path: Path) -> None:
    found = check_text(tmp_path, GSPMD, Settings("cpu"))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


def test_a_wrong_operation_in_shard_map_of_gspmd_is_named(tmp_path: Path) -> None:
    found = check_text(tmp_path, GSPMD, Settings("reference:share_lost"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation.startswith("all_reduce")
    assert " in sdy.manual_computation %" in found.operation


MANUAL = """
module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4x16xf32>)
      -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16x3xf32>, tensor<4x16xi32>) {
    %cst = stablehlo.constant dense<[[0.3, -0.7, 0.1], [0.9, 0.6, -0.2], [1.1, -1.3, 0.7],
      [0.1, 0.2, 0.3]]> : tensor<4x3xf32>
    %0:4 = sdy.manual_computation(%arg0, %cst)
        in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>,
                       <@mesh, [{"x"}, {}]>]
        manual_axes={"x"} (%arg1: tensor<1x16xf32>, %arg2: tensor<4x3xf32>) {
      %1 = stablehlo.tanh %arg1 : tensor<1x16xf32>
      %2 = "stablehlo.all_reduce"(%arg1) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {GROUPS} : (tensor<1x16xf32>) -> tensor<1x16xf32>
      %3 = stablehlo.add %2, %arg1 : tensor<1x16xf32>
      %4 = "stablehlo.all_gather"(%arg1) {all_gather_dim = 0 : i64, GROUPS}
        : (tensor<1x16xf32>) -> tensor<4x16xf32>
      %5 = stablehlo.dot_general %4, %arg2, contracting_dims = [0] x [0]
        : (tensor<4x16xf32>, tensor<4x3xf32>) -> tensor<16x3xf32>
      %6 = stablehlo.exponential %arg1 : tensor<1x16xf32>
      %7 = stablehlo.convert %6 : (tensor<1x16xf32>) -> tensor<1x16xi32>
      sdy.return %1, %3, %5, %7
        : tensor<1x16xf32>, tensor<1x16xf32>, tensor<16x3xf32>, tensor<1x16xi32>
    } : (tensor<4x16xf32>, tensor<4x3xf32>)
      -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16x3xf32>, tensor<4x16xi32>)
    %8 = stablehlo.negate %0#0 : tensor<4x16xf32>
    return %8, %0#1, %0#2, %0#3
      : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16x3xf32>, tensor<4x16xi32>
  }
}""".replace(
    "GROUPS",
    "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids, "
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
)


def test_operations_on_a_device_s_shards_have_their_tolerances(tmp_path: Path) -> None:
    found = check_text(tmp_path, MANUAL, Settings("cpu"))
    assert (found.verdict, found.message) == (Verdict.PASS, "")

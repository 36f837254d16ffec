"""Programs that jax wrote for several devices, with GSPMD's mhlo.sharding or as Shardy's manual
computations: XLA shares them out, the reference takes them as one process's."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.pjrt.backend import PjrtBackend
from conformance.checking.settings import Settings
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from suites.meta.support.checking import check_text

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


def test_its_values_lie_on_all_partitions() -> None:
    program = parse_module(SHARDED)
    executable = PjrtBackend("cpu", "cpu").compile(SHARDED, program)
    (first, second) = executable._loaded.get_parameter_shardings()  # pyright: ignore[reportPrivateUsage]
    assert list(first.tile_assignment_dimensions) == [8, 1]
    assert second.type.name == "REPLICATED"


def test_faulty_operation_in_sharded_program_is_located(tmp_path: Path) -> None:
    found = check_text(tmp_path, SHARDED, Settings("reference:low_precision"))
    assert found.verdict.fails
    assert found.operation.startswith(("dot_general", "tanh"))


def test_a_value_that_is_each_partition_s_own_shares_out_nothing() -> None:
    """Such attributes belong to programs of several processes."""
    manual = SHARDED
    for placed in ("{devices=[8,1]<=[8]}", "{replicated}", "{devices=[2,4]<=[8]}"):
        manual = manual.replace(placed, "{manual}")
    manual = manual.replace("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{manual}")
    assert parse_module(manual).process_count == 8
    assert parse_module(manual).shared_among == 1


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "operation"), [("sign_lost", "tanh %1"), ("share_lost", "all_reduce %2")]
)
def test_a_wrong_operation_of_a_device_is_named(tmp_path: Path, fault: str, operation: str) -> None:
    found = check_text(tmp_path, MANUAL, Settings(f"reference:{fault}"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation.startswith(operation)
    assert " in sdy.manual_computation %0" in found.operation

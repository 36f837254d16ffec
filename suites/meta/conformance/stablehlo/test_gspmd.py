"""jax's shard_map in GSPMD's form, read as manual computations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.gspmd import read_manual_computations
from conformance.stablehlo.parse import locations, parse_module
from conformance.stablehlo.reading.refusal import Unreadable
from reference.interpreter.evaluate import evaluate
from reference.interpreter.shards import shards_by_device
from reference.ops.structure import MANUAL

PROGRAM = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<WHOLExf32>) -> tensor<WHOLExf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "SHARDING"}
      : (tensor<WHOLExf32>) -> tensor<WHOLExf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
      : (tensor<WHOLExf32>) -> tensor<PARTxf32>
    %2 = call @shmap_body(%1) : (tensor<PARTxf32>) -> tensor<PARTxf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"}
      : (tensor<PARTxf32>) -> tensor<PARTxf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "SHARDING"}
      : (tensor<PARTxf32>) -> tensor<WHOLExf32>
    %5 = stablehlo.negate %4 : tensor<WHOLExf32>
    return %5 : tensor<WHOLExf32>
  }
  func.func private @shmap_body(%arg0: tensor<PARTxf32>) -> tensor<PARTxf32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<PARTxf32>
    %3 = stablehlo.add %2, %arg0 : tensor<PARTxf32>
    return %3 : tensor<PARTxf32>
  }
}"""
WHOLE = (8, 16)


def sharded(sharding: str, part: tuple[int, ...]) -> str:
    """Return the program with this sharding, which cuts its value into such parts."""
    text = PROGRAM.replace("SHARDING", sharding)
    for name, shape in (("WHOLE", WHOLE), ("PART", part)):
        text = text.replace(name, "x".join(map(str, shape)))
    return text


ONE_DEVICE = '@SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}'
ROWS = sharded("{devices=[8,1]<=[8]}", (1, 16))


def tile_assignment(sharding: str) -> np.ndarray[Any, Any]:
    """Return the devices of each tile, by XLA's definition of its text form."""
    tiles, sizes, *order = (
        [int(one) for one in numbers.split(",")]
        for numbers in re.findall(r"[\[(]([\d,]+)", sharding)
    )
    devices = np.arange(np.prod(sizes)).reshape(sizes)
    return devices.transpose(*order).reshape(*tiles, *[1] * (3 - len(tiles)))


@pytest.mark.parametrize(
    ("sharding", "axes"),
    [
        ("{devices=[8,1]<=[8]}", 1),
        ("{devices=[2,4]<=[8]}", 2),
        ("{devices=[4,2]<=[2,4]T(1,0)}", 2),
        ("{devices=[2,4]<=[2,2,2]T(1,0,2)}", 3),
        ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 2),
        ("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}", 2),
    ],
)
def test_each_device_has_the_shard_that_the_annotation_gives(sharding: str, axes: int) -> None:
    devices = tile_assignment(sharding)
    part = (WHOLE[0] // devices.shape[0], WHOLE[1] // devices.shape[1])
    manual = parse_module(sharded(sharding, part)).main.body.operations[0]
    mesh: Any = manual.attribute("mesh")
    ins: Any = manual.attribute("in_shardings")
    assert len(mesh) == axes
    value = np.arange(np.prod(WHOLE), dtype=np.float32).reshape(WHOLE)
    for device, (shard,) in enumerate(shards_by_device([value], ins, mesh)):
        ((row, column, _),) = np.argwhere(devices == device)
        begin = (row * part[0], column * part[1])
        expected = value[begin[0] : begin[0] + part[0], begin[1] : begin[1] + part[1]]
        np.testing.assert_array_equal(shard, expected)


def test_operations_between_the_calls_are_each_device_s_own() -> None:
    program = parse_module(ROWS)
    assert [one.name for one in program.main.body.operations] == [MANUAL, "negate", "return"]
    value = np.zeros(WHOLE, np.float32)
    (result,) = evaluate(program, [value])
    np.testing.assert_array_equal(result, -np.arange(8.0)[:, None] * np.ones(16))
    written = parse_module(emit(program))
    np.testing.assert_array_equal(evaluate(written, [value])[0], result)


def test_results_keep_their_locations() -> None:
    manual = parse_module(ROWS).main.body.operations[0]
    assert "11:" in locations(ROWS)["main", manual.results[0].name]


def test_shard_maps_after_one_another_and_constants_have_their_own_devices() -> None:
    more = """
    %c = stablehlo.constant dense<2.0> : tensor<1x16xf32>
    %6 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = "{devices=[8,1]<=[8]}"}
      : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %7 = stablehlo.custom_call @SPMDFullToShardShape(%6) {mhlo.sharding = "{manual}"}
      : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %8 = stablehlo.multiply %7, %c : tensor<1x16xf32>
    %9 = stablehlo.custom_call @SPMDShardToFullShape(%8)
      {mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %5 = stablehlo.negate %9 :"""
    program = parse_module(ROWS.replace("    %5 = stablehlo.negate %4 :", more))
    first, second, *rest = program.main.body.operations
    assert [one.name for one in rest] == ["negate", "return"]
    assert second.operands == first.results
    inside = [one.name for one in second.regions[0].operations]
    assert inside == ["constant", "multiply", "sdy.return"]
    (result,) = evaluate(program, [np.zeros(WHOLE, np.float32)])
    np.testing.assert_array_equal(result[:, 0], -2 * np.arange(8.0))


def test_values_from_outside_are_passed_to_each_device() -> None:
    text = ROWS.replace("%arg0: tensor<8x16xf32>", "%arg0: tensor<8x16xf32>, %x: tensor<1x16xf32>")
    text = text.replace("call @shmap_body(%1) :", "stablehlo.add %1, %x :")
    text = text.replace("add %1, %x : (tensor<1x16xf32>) ->", "add %1, %x :")
    program = parse_module(text)
    result = evaluate(program, [np.ones(WHOLE, np.float32), np.full((1, 16), 2, np.float32)])[0]
    np.testing.assert_array_equal(result, np.full(WHOLE, -3.0))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            ONE_DEVICE,
            ONE_DEVICE.replace("{manual}", "{devices=[1,1,8]<=[8] last_tile_dims={manual}}"),
            "axes that the compiler shards beside manual axes",
        ),
        ("[8,1]<=[8]", "[8,1]0,1,2,3,4,5,6,7", "the sharding .* is not read"),
        ("[8,1]<=[8]", "[4,1]<=[4]", "is not one of 8 devices"),
        ("[8,1]<=[8]", "[1,8]<=[8]", "does not cut tensor<8x16xf32> into parts of"),
        ("FullToShardShape(%0)", "FullToShardShape(%arg0)", "no @Sharding comes before"),
        ("return %5 : tensor<8x16xf32>", "return %3 : tensor<1x16xf32>", "own value is returned"),
    ],
)
def test_other_forms_are_refused_with_the_reason(old: str, new: str, reason: str) -> None:
    text = ROWS.replace(old, new)
    if "own value" in reason:
        text = text.replace("-> tensor<8x16xf32> {", "-> tensor<1x16xf32> {", 1)
    with pytest.raises(Unreadable, match=f"GSPMD's form: .*{reason}.*jax_use_shardy_partitioner"):
        parse_module(text)


def test_one_process_has_the_whole_value() -> None:
    text = ROWS.replace("1x16", "8x16").replace("num_partitions = 8", "num_partitions = 1")
    assert all(one.name != MANUAL for one in parse_module(text).walk())


def test_operations_without_these_calls_stay() -> None:
    body = parse_module(ROWS).functions[1].body
    assert read_manual_computations(body, {}, 8) == body

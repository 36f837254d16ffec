"""Replica groups, meshes and shardings: Shardy's dialect and GSPMD's annotations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from jaxlib.mlir import ir

from conformance.frontends.modules import NotChecked, units_of
from conformance.stablehlo.context import reading_context
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import ParseError, diagnose, locations, parse_module
from conformance.stablehlo.reading.refusal import Unreadable
from conformance.stablehlo.shardings import (
    mesh_of,
)
from reference.interpreter.evaluate import check, evaluate
from reference.interpreter.shards import shards_by_device
from reference.ops.structure import MANUAL

ALL_TO_ALL = """
%GROUPS
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // "stablehlo.all_to_all"( in a comment
  %0 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64,
    split_count = 2 : i64, replica_groups = %REF} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("groups", ["dense<> : tensor<0x0xi64>", "dense<> : tensor<0x2xi64>"])
@pytest.mark.parametrize("alias", ["#groups", ""])
def test_an_all_to_all_without_groups_is_refused_before_the_verifier(groups, alias, capfd):
    """The verifier of jaxlib 0.10.2 divides by the number of groups and crashes."""
    defined = f"{alias} = {groups}" if alias else ""
    text = ALL_TO_ALL.replace("%GROUPS", defined).replace("%REF", alias or groups)
    says = r"line 5, column 8: 'stablehlo.all_to_all' op replica_groups must hold at least one"
    for read in (parse_module, locations, units_of_text):
        with pytest.raises(ParseError, match=says):
            read(text)
    assert "at least one group (C8" in str(diagnose(text))
    assert capfd.readouterr() == ("", "")


def units_of_text(text):
    """`check` parses text with operations of CHLO and MHLO by another path."""
    more = "func.func @g(%x: tensor<f32>) -> tensor<f32> {{ %0 = {}\n return %0 : tensor<f32> }}"
    for other in (
        "mhlo.negate %x : tensor<f32>",
        "chlo.tan %x : tensor<f32> -> tensor<f32>",
    ):
        found = list(units_of(text + more.format(other)))
        assert all(isinstance(one, NotChecked) and one.invalid for one in found), found
    (found,) = units_of(text)
    raise ParseError(found.reason)


ASYNCHRONOUS = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    %2 = "stablehlo.all_to_all"(%y) {split_dimension = 0 : i64, concat_dimension = 0 : i64,
      split_count = 2 : i64, replica_groups = %REF} : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%2) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def test_an_all_to_all_inside_of_an_operation_is_read():
    """Constraints that the verifier of the operation checks are not parse errors."""
    read = parse_module(ASYNCHRONOUS.replace("%REF", "dense<[[0, 1]]> : tensor<1x2xi64>"))
    assert read.main.body.operations[0].name == "async_start"
    with pytest.raises(ParseError, match=r"line 5, column 10: .* at least one group"):
        parse_module(ASYNCHRONOUS.replace("%REF", "dense<> : tensor<0x0xi64>"))


def test_an_all_to_all_with_groups_is_read():
    text = ALL_TO_ALL.replace("%GROUPS", "")
    read = parse_module(text.replace("%REF", "dense<[[0, 1]]> : tensor<1x2xi64>"))
    assert read.main.body.operations[0].name == "all_to_all"
    with pytest.raises(ParseError, match=r"line 5, column 8: .*'stablehlo.all_to_all' op"):
        parse_module(text.replace("%REF", "1 : i64"))
    with pytest.raises(ParseError, match="line 5, column 31: use of undeclared SSA value name %"):
        parse_module(text.replace("%REF", "dense<0> : tensor<1x1xi64>").replace("(%x) {", "(%y) {"))


MESH = """
module attributes {mhlo.num_replicas = 4 : i32} {
  MODULE
  func.func @main(%x: tensor<1xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups =
      #stablehlo.replica_group_mesh_axes<mesh = REF, axes = [AXES]>}
      : (tensor<1xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
INLINED = "#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = {}, size = 4>]IDS>".format(
    r'"x\22>"'
)
PART = r'#stablehlo.axis_ref<name = "x\22>", sub_axis_info = (2)2>'


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        ("", [[1, 2], [1, 2], [3, 4], [3, 4]]),
        (", device_ids = dense<[0, 2, 1, 3]> : tensor<4xi64>", [[1, 3], [2, 4], [1, 3], [2, 4]]),
    ],
)
def test_replica_groups_of_a_mesh_are_read_written_and_evaluated(ids, wanted):
    text = MESH.replace("MODULE", "").replace("REF", INLINED).replace("AXES", PART)
    program = parse_module(text.replace("IDS", ids))
    assert not check(program)
    written = emit(program)
    assert "sub_axis_info = (2)2" in written
    assert ("device_ids" in written) == bool(ids)
    assert parse_module(written) == program
    inputs = [np.array([number], np.float32) for number in (1, 2, 3, 4)]
    assert [array.tolist() for array in evaluate(program, inputs)] == wanted


@pytest.mark.parametrize("order", ["", ", device_ids=[0, 2, 1, 3]"])
def test_a_mesh_of_the_module_may_order_its_devices(order):
    axis = '#stablehlo.axis_ref<name = "x">'
    text = MESH.replace("REF", "@m").replace("AXES", axis)
    program = parse_module(text.replace("MODULE", f'sdy.mesh @m = <["x"=2, "y"=2]{order}>'))
    groups = program.main.body.operations[0].attribute("replica_groups")
    assert groups.array.tolist() == ([[0, 1], [2, 3]] if order else [[0, 2], [1, 3]])
    with pytest.raises(ParseError, match=r"line 5: .*: axis 'x' is not in the mesh"):
        parse_module(text.replace("MODULE", 'sdy.mesh @m = <["y"=4]>'))


SHARDED = """
sdy.mesh @mesh = <["x"=2, "y"=3]>
sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
func.func @main(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x6xf32>) {
    sdy.return %b : tensor<2x6xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}"""


def manual_in(text: str):
    """Return the module, and the manual computation in its function main."""
    module = ir.Module.parse(text)
    function = list(module.body.operations)[-1].operation
    return module, next(
        operation.operation
        for operation in function.regions[0].blocks[0].operations
        if operation.operation.name == MANUAL
    )


def test_written_manual_computations_are_read_back() -> None:
    attributes = " attributes {mhlo.num_partitions = 6 : i32}"
    program = parse_module(f"module{attributes} {{{SHARDED}}}")
    assert program.shared_among == 6
    written = parse_module(emit(program))
    assert written == program
    assert written.shared_among == 6


def test_meshes_that_are_missing_or_in_another_order_are_not_read() -> None:
    with reading_context():
        _, operation = manual_in(SHARDED)
        assert mesh_of(operation, "mesh") == (("x", 2), ("y", 3))
        with pytest.raises(ValueError, match="no mesh @other"):
            mesh_of(operation, "other")
        with pytest.raises(ValueError, match="@turned: meshes with devices in another order"):
            mesh_of(operation, "turned")


def test_constraints_are_left_out_of_emitted_programs() -> None:
    constrained = SHARDED.replace(
        "return %0 :", "%1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<4x6xf32>\n"
        "  return %1 :",
    )  # fmt: skip
    program = parse_module(emit(parse_module(constrained)))
    assert [operation.name for operation in program.main.body.operations] == [
        MANUAL,
        "reshape",
        "return",
    ]


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

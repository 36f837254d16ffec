"""Replica groups in text: absent groups, groups of meshes, and asynchronous ops with groups."""

from __future__ import annotations

import numpy as np
import pytest
from jaxlib.mlir import ir

from conformance.frontends.modules import NotChecked, units_of
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import ParseError, diagnose, locations, parse_module
from conformance.stablehlo.reading.groups import replica_groups
from reference.interpreter.evaluate import check, evaluate

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


def test_an_all_to_all_that_is_started_asynchronously_is_read():
    """The verifier of async_start looks for a collective in its region."""
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.async_start"(%x) ({
      ^bb0(%y: tensor<4xf32>):
        %2 = "stablehlo.all_to_all"(%y) {split_dimension = 0 : i64, concat_dimension = 0 : i64,
          split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
          : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
      %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    assert parse_module(text).main.body.operations[0].name == "async_start"


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


def test_other_attributes_are_not_groups_by_axes():
    with ir.Context() as context:
        assert replica_groups(None, ir.Attribute.parse("1 : i32", context)) is None

"""Shardings of Shardy's dialect, and GSPMD's annotations."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.shardings import (
    device_count,
    is_annotated,
    manual_attributes,
    mesh_of,
)
from reference.ops.structure import MANUAL

MODULE = """
sdy.mesh @mesh = <["x"=2, "y"=3]>
sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
func.func @main(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x6xf32>) {
    sdy.return %b : tensor<2x6xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}"""
PLAIN = "func.func @main() { return }"


def manual_in(text: str):
    """Return the module, and the manual computation in its function main."""
    module = ir.Module.parse(text)
    function = list(module.body.operations)[-1].operation
    return module, next(
        one.operation
        for one in function.regions[0].blocks[0].operations
        if one.operation.name == MANUAL
    )


def test_manual_computation_has_a_mesh_and_axes_by_dimension() -> None:
    with reading_context():
        _, operation = manual_in(MODULE)
        assert manual_attributes(operation) == {
            "mesh": (("x", 2), ("y", 3)),
            "manual_axes": ("x",),
            "in_shardings": ((("x",), ()),),
            "out_shardings": ((("x",), ()),),
        }


def test_written_manual_computations_are_read_back() -> None:
    attributes = " attributes {mhlo.num_partitions = 6 : i32}"
    program = parse_module(f"module{attributes} {{{MODULE}}}")
    assert program.shared_among == 6
    written = parse_module(emit(program))
    assert written == program
    assert written.shared_among == 6


def test_meshes_that_are_missing_or_in_another_order_are_not_read() -> None:
    with reading_context():
        _, operation = manual_in(MODULE)
        assert mesh_of(operation, "mesh") == (("x", 2), ("y", 3))
        with pytest.raises(ValueError, match="no mesh @other"):
            mesh_of(operation, "other")
        with pytest.raises(ValueError, match="@turned: meshes with devices in another order"):
            mesh_of(operation, "turned")


def test_largest_mesh_determines_the_number_of_devices() -> None:
    with reading_context():
        assert device_count(ir.Module.parse(MODULE)) == 6
        assert device_count(ir.Module.parse(PLAIN)) == 0
    assert parse_module(MODULE).shared_among == 6


def test_axes_that_are_not_manual_are_left_to_the_compiler() -> None:
    text = MODULE.replace('[{"x"}, {}]', '[{"x"}, {"y", ?}]')
    assert parse_module(text) == parse_module(MODULE)


def test_constraints_are_left_out_of_emitted_programs() -> None:
    constrained = MODULE.replace(
        "return %0 :", "%1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<4x6xf32>\n"
        "  return %1 :",
    )  # fmt: skip
    program = parse_module(emit(parse_module(constrained)))
    assert [one.name for one in program.main.body.operations] == [MANUAL, "reshape", "return"]


@pytest.mark.parametrize(
    ("text", "annotated"),
    [
        ('mhlo.sharding = "{devices=[2,1]0,1}"', True),
        ('mhlo.sharding="{replicated}"', True),
        ('mhlo.sharding = "{manual}"', False),
        ("no annotation", False),
    ],
)
def test_manual_annotations_leave_nothing_to_partition(text: str, annotated: bool) -> None:
    assert is_annotated(text) is annotated

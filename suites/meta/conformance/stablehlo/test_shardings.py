"""Shardings of Shardy's dialect, and GSPMD's annotations."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.shardings import (
    is_annotated,
    is_shared_out,
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


def test_modules_of_shardy_are_to_be_partitioned() -> None:
    with reading_context():
        assert is_shared_out(ir.Module.parse(MODULE))
        assert not is_shared_out(ir.Module.parse(PLAIN))


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

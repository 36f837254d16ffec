"""The attributes of an operation, as MLIR has read them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.stablehlo.attributes import Verbatim
from conformance.stablehlo.reading.attributes import own_attributes
from reference.ir.program import Dense
from suites.meta.conformance.stablehlo.mlir import read_operations


def attributes_of(line: str, arguments: str = "%x: tensor<4xf32>") -> dict[str, Any]:
    """Return the attributes of the first operation of a function."""
    text = f"func.func @main({arguments}) {{\n  %0 = {line}\n  return\n}}"
    with read_operations(text) as operations:
        return dict(own_attributes(operations[0]))


def test_attributes_have_the_values_of_their_kind() -> None:
    found = attributes_of("stablehlo.reverse %x, dims = [0] : tensor<4xf32>")
    assert found == {"dimensions": (0,)}


def test_structs_are_flattened() -> None:
    found = attributes_of(
        "stablehlo.dot_general %x, %x, contracting_dims = [0] x [0]"
        " : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>"
    )
    assert found["lhs_contracting_dimensions"] == (0,)
    assert "dot_dimension_numbers" not in found


def test_constants_are_read_as_such() -> None:
    found = attributes_of("stablehlo.constant dense<1.0> : tensor<2xf32>")["value"]
    assert isinstance(found, Dense)
    assert found.array.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("extra", ["mhlo.x = 1 : i64", "no_such_name = 1 : i64"])
def test_attributes_without_a_meaning_for_the_op_are_left_out(extra: str) -> None:
    assert attributes_of(f"stablehlo.negate %x {{{extra}}} : tensor<4xf32>") == {}


def test_custom_calls_keep_every_attribute() -> None:
    found = attributes_of(
        "stablehlo.custom_call @foo(%x) {mhlo.backend_config = {n = 1 : i64}, any = 2 : i8}"
        " : (tensor<4xf32>) -> tensor<4xf32>"
    )
    assert found["call_target_name"] == "foo"
    assert found["mhlo.backend_config"] == (("n", 1, "i64"),)
    assert found["any"] == Verbatim("2 : i8")


def test_accuracy_that_asks_for_nothing_is_left_out() -> None:
    asked = "#stablehlo.result_accuracy<{}mode = #stablehlo.result_accuracy_mode<{}>>"
    for text, names in (
        (asked.format("", "DEFAULT"), set()),
        (asked.format("ulps = 3, ", "TOLERANCE"), {"result_accuracy"}),
    ):
        line = f"stablehlo.exponential %x {{result_accuracy = {text}}} : tensor<4xf32>"
        assert set(attributes_of(line)) == names


def test_groups_along_a_mesh_are_groups() -> None:
    found = attributes_of(
        '"stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,'
        " replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>"
    )
    assert found["replica_groups"].array.tolist() == [[0, 1]]
    assert found["all_gather_dim"] == 0

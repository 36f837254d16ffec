"""Attributes and constants: written, grouped in structs, and read back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.attributes import (
    KINDS,
    spell_attribute,
    spell_dense,
)
from conformance.stablehlo.context import reading_context
from conformance.stablehlo.elements import attribute_of
from conformance.stablehlo.reading.constants import constant, parse_dense
from conformance.stablehlo.reading.kinds import read_as
from conformance.stablehlo.structs import group_attributes
from reference.ir.accuracy import ResultAccuracy
from reference.ir.aliases import OutputOperandAlias
from reference.ir.constants import matrix
from reference.ir.program import Dense
from reference.ir.types import element_type
from suites.meta.conformance.stablehlo.mlir import read_operations
from suites.meta.support.small_programs import array, tensor_of


def test_large_constants_of_booleans_are_lists() -> None:
    """A bit or a byte for each, hexadecimal booleans mean one thing or the other to a jaxlib."""
    values = np.arange(40).reshape(20, 2) % 3 == 0
    assert spell_dense(Dense.of(values, tensor_of(20, 2, of="i1"))).startswith(
        "dense<[[true, false"
    )


def test_quantized_constants_are_codes() -> None:
    text = """func.func @main() {
  %0 = stablehlo.constant() {value = dense<[1, -2]> : tensor<2xi8>}
    : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}"""
    with read_operations(text) as operations:
        found = constant(operations[0])
    assert found.array.astype(np.int8).tolist() == [1, -2]


def test_text_of_a_constant_is_parsed() -> None:
    with reading_context():
        found = parse_dense("dense<[1, 2]> : tensor<2xi64>")
        assert found is not None
        assert (found.type, found.array.tolist()) == (tensor_of(2, of="si64"), [1, 2])
        assert parse_dense("3 : i64") is None
        assert parse_dense("dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>") is None
        assert parse_dense("no attribute") is None


EMPTY = "func.func @main() {\n  return\n}"
VALUES: dict[str, Any] = {
    "iota_dimension": 3, "index": -1, "epsilon": 0.5, "is_stable": True, "has_dynamic_root": True,
    "call_target_name": 'a"b', "callee": "f", "called_computations": ("f", "g"),
    "result_accuracy": ResultAccuracy("TOLERANCE", 0.5, 0.25, 7), "dimensions": (0, 2),
    "operandSegmentSizes": (1, 0), "window_reversal": (True, False), "fft_type": "IRFFT",
    "backend_config": (("n", 3, "i64"), ("s", "x", "string")),
    "precision_config": ("HIGH", "DEFAULT"),
    "output_operand_aliases": (OutputOperandAlias((0,), 1, ()),),
    "composite_attributes": (("a", 3), ("b", (True, "s")), ("t", element_type("bf16"))),
    "source_target_pairs": matrix([[0, 1]]),
}  # fmt: skip
"""A value of each kind of attribute."""


def read(name: str, text: str) -> Any:
    with read_operations(EMPTY) as (end,):
        return read_as(KINDS[name], ir.Attribute.parse(text), end)


@pytest.mark.parametrize("name", VALUES)
def test_value_that_is_written_is_read_back(name: str) -> None:
    spelled = spell_attribute(name, VALUES[name]).partition(" = ")[2]
    assert read(name, spelled) == VALUES[name]


def test_every_kind_has_a_value_here() -> None:
    assert {KINDS[name].name for name in VALUES} == {kind.name for kind in KINDS.values()}


@pytest.mark.parametrize("name", VALUES)
def test_attribute_of_another_kind_has_no_value(name: str) -> None:
    assert read(name, "array<i16: 1>") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("iota_dimension", "3 : i32"),
        ("epsilon", "0.5 : f64"),
        ("called_computations", "[@f, 3 : i64]"),
        ("composite_attributes", "{a = 3 : i32}"),
        ("composite_attributes", "{a = [3 : i64, 1.0 : f32]}"),
        ("result_accuracy", "unit"),
    ],
)
def test_value_of_another_width_or_with_a_foreign_part_is_none(name: str, text: str) -> None:
    assert read(name, text) is None


def test_convolutions_are_written_raw_and_chlo_in_its_dialect() -> None:
    _, (text,) = group_attributes("convolution", [("input_batch_dimension", 0)])
    assert text == "dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0>"
    _, (text,) = group_attributes("chlo.ragged_dot", [("lhs_ragged_dimensions", (1,))])
    assert text == "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_ragged_dimensions = [1]>"


def test_attribute_of_an_array_has_its_type() -> None:
    with reading_context(), ir.Location.unknown():
        assert str(attribute_of(array([1, 2], "si32"))) == "dense<[1, 2]> : tensor<2xi32>"
        with pytest.raises(KeyError):
            attribute_of(np.array(["a"]))

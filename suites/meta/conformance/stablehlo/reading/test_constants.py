"""Constants, as MLIR has read them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.reading.constants import constant, parse_dense
from suites.meta.conformance.stablehlo.mlir import read_operations
from suites.meta.support.small_programs import tensor_of


def value_of(literal: str, of: str):
    text = f"func.func @main() {{\n  %0 = stablehlo.constant {literal} : {of}\n  return\n}}"
    with read_operations(text) as operations:
        return constant(operations[0])


@pytest.mark.parametrize(
    ("literal", "of", "found"),
    [
        ("dense<[1.5, -2.0]>", "tensor<2xf32>", [1.5, -2.0]),
        ("dense<(1.0, 2.0)>", "tensor<1xcomplex<f32>>", [1 + 2j]),
        ("dense<7>", "tensor<2xui8>", [7, 7]),
    ],
)
def test_constants_are_arrays_of_their_type(literal: str, of: str, found: list) -> None:
    assert value_of(literal, of).array.tolist() == found


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

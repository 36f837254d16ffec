"""Types of values, as MLIR has read them."""

from __future__ import annotations

import pytest

from conformance.stablehlo.reading.refusal import Unreadable
from conformance.stablehlo.reading.types import MOST_DIMENSIONS, value_type
from reference.ir.program import QuantizedType, TensorType, TokenType, TupleType, ValueType
from reference.ir.types import element_type
from suites.meta.conformance.stablehlo.mlir import read_operations
from suites.meta.support.small_programs import tensor_of


def type_of(spelled: str) -> ValueType:
    """Return the type of the first argument of a function that takes this type."""
    text = f"func.func @main(%x: {spelled}) {{\n  return\n}}"
    with read_operations(text) as (end,):
        return value_type(end.parent.regions[0].blocks[0].arguments[0].type, end)


@pytest.mark.parametrize(
    ("spelled", "of"),
    [
        ("tensor<2x3xf32>", tensor_of(2, 3)),
        ("tensor<ui8>", tensor_of(of="ui8")),
        ("tensor<2xcomplex<f64>>", tensor_of(2, of="complex<f64>")),
        ("tensor<?x3xi32>", TensorType((None, 3), element_type("si32"))),
        (
            "tensor<?x3xi32, #stablehlo.bounds<5, ?>>",
            TensorType((None, 3), element_type("si32"), (5, None)),
        ),
        ("!stablehlo.token", TokenType()),
        ("tuple<tensor<f32>, tuple<>>", TupleType((tensor_of(), TupleType(())))),
    ],
)
def test_types_of_values(spelled: str, of: ValueType) -> None:
    assert type_of(spelled) == of


def test_quantized_types_have_limits_scales_and_zero_points() -> None:
    of = type_of("tensor<2x2x!quant.uniform<i8<-7:7>:f32:1, {0.5, 0.25:3}>>")
    assert isinstance(of, TensorType)
    assert of.element_type == QuantizedType(
        element_type("si8"), -7, 7, element_type("f32"), (0.5, 0.25), (0, 3), 1
    )
    whole = type_of("tensor<2x!quant.uniform<u8:f32, 0.5:128>>")
    assert isinstance(whole, TensorType)
    assert whole.element_type == QuantizedType(
        element_type("ui8"), 0, 255, element_type("f32"), (0.5,), (128,), None
    )


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        ("tensor<2xindex>", "no element type index"),
        ("tensor<*xf32>", "are not read"),
        ("tensor<2xf32, 3 : i64>", "encodings are not read"),
        (f"tensor<{'1x' * (MOST_DIMENSIONS + 1)}f32>", f"{MOST_DIMENSIONS + 1} dimensions"),
    ],
)
def test_types_that_programs_cannot_have_are_refused_with_their_place(
    spelled: str, reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason):
        type_of(spelled)

"""Types of values, as MLIR has read them.

Source: StableHLO specification, "Types".
"""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from conformance.stablehlo.reading.refusal import refusal
from reference.ir.program import (
    FutureType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    ValueType,
)
from reference.ir.types import ElementType, from_mlir

_QUANTIZED = re.compile(
    r"!quant\.uniform<(?P<storage>[iu]\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?"
    r":(?P<expressed>\w+)(?::(?P<axis>\d+))?, \{?(?P<steps>[^{}]*?)\}?>"
)
_FUTURE = "!stablehlo.future<"

MOST_DIMENSIONS = 64
"""Largest number of dimensions of a numpy array."""


def value_type(mlir_type: ir.Type, owner: ir.Operation) -> ValueType:
    """Return the type of a value of the operation `owner`.

    Raises:
        Unreadable: programs cannot have this type.
    """
    spelled = str(mlir_type)
    if spelled == "!stablehlo.token":
        return TokenType()
    if spelled.startswith("tuple<"):
        parts = ir.TupleType(mlir_type)
        return TupleType(
            tuple(value_type(parts.get_type(i), owner) for i in range(parts.num_types))
        )
    if spelled.startswith(_FUTURE):
        return _future(spelled, owner)
    if not isinstance(mlir_type, ir.RankedTensorType):
        raise refusal(owner, f"values of type {spelled} are not read")
    if mlir_type.rank > MOST_DIMENSIONS:
        raise refusal(
            owner,
            f"a tensor of {mlir_type.rank} dimensions is not read: the reference computes with "
            f"numpy, whose arrays have at most {MOST_DIMENSIONS}",
        )
    sizes = (
        None if mlir_type.is_dynamic_dim(i) else mlir_type.get_dim_size(i)
        for i in range(mlir_type.rank)
    )
    element = _element(str(mlir_type.element_type), owner)
    return TensorType(tuple(sizes), element, _bounds(mlir_type, owner))


def _bounds(mlir_type: ir.RankedTensorType, owner: ir.Operation) -> tuple[int | None, ...]:
    """Return the upper bounds of a tensor's sizes, from its encoding; empty without bounds."""
    encoding: Any = mlir_type.encoding
    if encoding is None:
        return ()
    if not stablehlo.TypeExtensions.isinstance(encoding):
        raise refusal(owner, f"tensor encodings are not read: {mlir_type}")
    return tuple(
        size if mlir_type.is_dynamic_dim(d) else None
        for d, size in enumerate(stablehlo.TypeExtensions(encoding).bounds)
    )


def _future(spelled: str, owner: ir.Operation) -> FutureType:
    """Return a future type, read from its text as a function type: jaxlib has no view of it."""
    inside = spelled.removeprefix(_FUTURE).removesuffix(">")
    of = ir.FunctionType(ir.Type.parse(f"({inside}) -> ()"))
    return FutureType(tuple(value_type(one, owner) for one in of.inputs))


def _element(spelled: str, owner: ir.Operation) -> ElementType | QuantizedType:
    if spelled.startswith("!quant."):
        return _read_quantized_type(spelled, owner)
    try:
        return from_mlir(spelled)
    except KeyError:
        raise refusal(owner, f"the specification has no element type {spelled}") from None


def _read_quantized_type(spelled: str, owner: ir.Operation) -> QuantizedType:
    found = _QUANTIZED.fullmatch(spelled)
    if found is None and ":{" in spelled:
        raise refusal(owner, f"the specification has no sub-channel quantization: {spelled}")
    if found is None:
        raise refusal(owner, f"quantized type {spelled} is not read")
    storage = from_mlir(found["storage"].replace("u", "ui"))
    steps = [step.strip().partition(":") for step in found["steps"].split(",")]
    return QuantizedType(
        storage,
        storage.min_integer if found["low"] is None else int(found["low"]),
        storage.max_integer if found["high"] is None else int(found["high"]),
        from_mlir(found["expressed"]),
        tuple(float(scale) for scale, _, _ in steps),
        tuple(int(zero or "0") for _, _, zero in steps),
        None if found["axis"] is None else int(found["axis"]),
    )

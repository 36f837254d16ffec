"""Operations on quantized tensors, evaluated as operations on numbers or on codes.

Ops that compute take the numbers that codes represent and quantize their results, as the
specification's `dequantize_op_quantize` and `hybrid_dequantize_then_op` do; operands and results
that are not quantized stay as they are. Ops that move elements, or apply a body to them, work on
codes; these rules then apply to the operations in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from reference.ir.op import QuantizedUse
from reference.ir.program import Operation, QuantizedType, TensorType, Value
from reference.ir.types import Array
from reference.ops.quantization import dequantize, quantize, requantize
from reference.ops.table import OPS

Apply = Callable[[Operation, list[Any]], tuple[Any, ...]]
"""A function apply(operation, operands): the results of an operation on plain tensors."""


def is_quantized_operation(operation: Operation) -> bool:
    """Return whether an operation that computes or moves has a quantized operand or result."""
    for value in (*operation.operands, *operation.results):
        of = value.type
        if isinstance(of, TensorType) and isinstance(of.element_type, QuantizedType):
            record = OPS.get(operation.name)
            return record is not None and record.quantized is not QuantizedUse.PASSES
    return False


def computes_on_numbers(operation: Operation) -> bool:
    """Return whether the op is defined on the numbers that codes represent, not on the codes."""
    return OPS[operation.name].quantized.on_numbers


def has_quantized_values(operation: Operation) -> bool:
    """Return whether an operation of any kind has a quantized operand or result."""
    return any(
        _quantized_element(value) is not None for value in (*operation.operands, *operation.results)
    )


def has_per_axis_values(operation: Operation) -> bool:
    """Return whether an operand or result has a scale for each index of a dimension."""
    kinds = (_quantized_element(value) for value in (*operation.operands, *operation.results))
    return any(of is not None and of.quantization_dimension is not None for of in kinds)


def evaluate(operation: Operation, operands: Sequence[Array], apply: Apply) -> tuple[Array, ...]:
    """Return the results of an `is_quantized_operation`, quantized results as codes."""
    if computes_on_numbers(operation):
        return encode_results(
            operation, apply(plain_operation(operation), decode_operands(operation, operands))
        )
    return apply(plain_operation(operation), convert_to_body_types(operation, operands))


@lru_cache(maxsize=4096)
def plain_operation(operation: Operation) -> Operation:
    """Return the operation on numbers or codes that implements an operation on quantized
    tensors."""
    computes = computes_on_numbers(operation)
    operands = tuple(_plain_value(value, computes) for value in operation.operands)
    results = tuple(_plain_value(value, computes) for value in operation.results)
    record = OPS.get(operation.name)
    without = record.unquantized if record is not None else ()
    attributes = tuple(pair for pair in operation.attributes if pair[0] not in without)
    return replace(operation, operands=operands, results=results, attributes=attributes)


def decode_operands(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """Return the operands of an operation, with codes replaced by the numbers they represent."""
    kinds = [_quantized_element(value) for value in operation.operands]
    pairs = zip(operands, kinds, strict=True)
    return [array if of is None else dequantize(array, of) for array, of in pairs]


def encode_results(operation: Operation, results: Sequence[Array]) -> tuple[Array, ...]:
    """Return an operation's results, with numbers of quantized type converted to codes."""
    kinds = [_quantized_element(value) for value in operation.results]
    pairs = zip(results, kinds, strict=True)
    return tuple(array if of is None else quantize(array, of) for array, of in pairs)


def element_types(operation: Operation) -> tuple[list[QuantizedType | None], ...]:
    """Return the element types of operands and of results: None if not quantized."""
    return (
        [_quantized_element(value) for value in operation.operands],
        [_quantized_element(value) for value in operation.results],
    )


def _quantized_element(value: Value) -> QuantizedType | None:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return of if isinstance(of, QuantizedType) else None


def _plain_value(value: Value, computes: bool) -> Value:
    of = _quantized_element(value)
    if of is None:
        return value
    assert isinstance(value.type, TensorType)
    element = of.expressed_type if computes else of.storage_type
    return Value(value.name, TensorType(value.type.shape, element))


def convert_to_body_types(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """Return operands of an operation that moves or folds, with codes as its body takes them.

    This is `to_destination_type` of the specification.
    """
    given = [_quantized_element(value) for value in operation.operands]
    return [
        array if of is None or to is None else requantize(array, of, to)
        for array, of, to in zip(operands, given, types_in_body(operation), strict=True)
    ]


def types_in_body(operation: Operation) -> list[QuantizedType | None]:
    """Return the quantized type that a body takes each operand in, or None if it is not
    converted."""
    found: list[QuantizedType | None] = []
    for is_converted in OPS[operation.name].body_types:
        found += map(_quantized_element, operation.results) if is_converted else [None]
    return found if len(found) == len(operation.operands) else [None] * len(operation.operands)

"""Operations on quantized tensors, each as an operation on tensors of numbers or of codes.

Ops that compute take the numbers that codes stand for and quantize what they give: the
specification's `dequantize_op_quantize` and its kin, `hybrid_dequantize_then_op` among them (an
operand or result that is not quantized stays as it is). Ops that move elements or apply a body to
them work on the codes; the operations in a body are evaluated by these rules in their turn.
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
"""apply(operation, operands): the results of an operation without quantized operands or results."""


def involved(operation: Operation) -> bool:
    """Whether an operand or a result of an operation that computes or moves is quantized."""
    for value in (*operation.operands, *operation.results):
        of = value.type
        if isinstance(of, TensorType) and isinstance(of.element_type, QuantizedType):
            record = OPS.get(operation.name)
            return record is not None and record.quantized is not QuantizedUse.PASSES
    return False


def on_numbers(operation: Operation) -> bool:
    """Whether the operation's op is defined on the numbers that codes stand for, not on codes."""
    return OPS[operation.name].quantized.on_numbers


def mentioned(operation: Operation) -> bool:
    """Whether an operand or a result of an operation, whatever it does, is quantized."""
    return any(_quantized(value) is not None for value in (*operation.operands, *operation.results))


def per_axis(operation: Operation) -> bool:
    """Whether an operand or a result has a scale for each index of a dimension."""
    kinds = (_quantized(value) for value in (*operation.operands, *operation.results))
    return any(of is not None and of.quantization_dimension is not None for of in kinds)


def evaluate(operation: Operation, operands: Sequence[Array], apply: Apply) -> tuple[Array, ...]:
    """The results of an operation for which `involved` holds, quantized ones as codes."""
    if on_numbers(operation):
        return encoded(operation, apply(plain(operation), numbers(operation, operands)))
    return apply(plain(operation), in_result_types(operation, operands))


@lru_cache(maxsize=4096)
def plain(operation: Operation) -> Operation:
    """The operation on numbers, or on codes, that an operation on quantized tensors comes to."""
    computes = on_numbers(operation)
    operands = tuple(_plain_value(value, computes) for value in operation.operands)
    results = tuple(_plain_value(value, computes) for value in operation.results)
    record = OPS.get(operation.name)
    without = record.unquantized if record is not None else ()
    attributes = tuple(pair for pair in operation.attributes if pair[0] not in without)
    return replace(operation, operands=operands, results=results, attributes=attributes)


def numbers(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """The operands of an operation, codes as the numbers that they stand for."""
    kinds = [_quantized(value) for value in operation.operands]
    pairs = zip(operands, kinds, strict=True)
    return [array if of is None else dequantize(array, of) for array, of in pairs]


def encoded(operation: Operation, results: Sequence[Array]) -> tuple[Array, ...]:
    """Numbers as an operation's results, those of quantized type as codes."""
    kinds = [_quantized(value) for value in operation.results]
    pairs = zip(results, kinds, strict=True)
    return tuple(array if of is None else quantize(array, of) for array, of in pairs)


def element_types(operation: Operation) -> tuple[list[QuantizedType | None], ...]:
    """The quantized element types of the operands and of the results, None of those not so."""
    return (
        [_quantized(value) for value in operation.operands],
        [_quantized(value) for value in operation.results],
    )


def _quantized(value: Value) -> QuantizedType | None:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return of if isinstance(of, QuantizedType) else None


def _plain_value(value: Value, computes: bool) -> Value:
    of = _quantized(value)
    if of is None:
        return value
    assert isinstance(value.type, TensorType)
    element = of.expressed_type if computes else of.storage_type
    return Value(value.name, TensorType(value.type.shape, element))


def in_result_types(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """Codes of an operation that moves or folds, as its body takes them.

    That is `to_destination_type` of the specification.
    """
    given = [_quantized(value) for value in operation.operands]
    return [
        array if of is None or to is None else requantize(array, of, to)
        for array, of, to in zip(operands, given, types_in_body(operation), strict=True)
    ]


def types_in_body(operation: Operation) -> list[QuantizedType | None]:
    """The quantized type that a body takes each operand in; None of those that stay as they are."""
    found: list[QuantizedType | None] = []
    for is_converted in OPS[operation.name].body_types:
        found += map(_quantized, operation.results) if is_converted else [None]
    return found if len(found) == len(operation.operands) else [None] * len(operation.operands)

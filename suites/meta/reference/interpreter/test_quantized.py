"""Operations on quantized tensors: on the numbers of codes, or on the codes themselves."""

from __future__ import annotations

from functools import partial

import numpy as np

from reference.interpreter import quantized
from reference.interpreter.quantized import (
    computes_on_numbers,
    element_types,
    has_per_axis_values,
    has_quantized_values,
    is_quantized_operation,
    plain_operation,
)
from reference.ir.program import Operation, QuantizedType, TensorType, Value
from reference.ir.types import Array, element_type

F32, SI8 = element_type("f32"), element_type("si8")
HALVES = QuantizedType(SI8, -128, 127, F32, (0.5,), (1,))
"""Codes of half the number, plus 1."""
THIRD_AXIS = QuantizedType(SI8, -128, 127, F32, (0.5,), (0,), 0)


def value(name: str, of: object) -> Value:
    return Value(name, TensorType((1,), of))  # type: ignore[arg-type]


def operation(op: str, *of: object) -> Operation:
    """Return an operation on operands of these types; the last type is its result's."""
    *operands, result = (value(f"v{index}", one) for index, one in enumerate(of))
    return Operation(op, tuple(operands), (result,))


def test_operations_with_a_quantized_operand_or_result() -> None:
    assert is_quantized_operation(operation("add", HALVES, F32, F32))
    assert is_quantized_operation(operation("add", F32, F32, HALVES))
    assert not is_quantized_operation(operation("add", F32, F32, F32))
    assert not is_quantized_operation(operation("optimization_barrier", HALVES, HALVES))
    assert not is_quantized_operation(operation("unknown", HALVES, HALVES))


def test_values_of_operations_of_every_kind() -> None:
    assert has_quantized_values(operation("unknown", F32, HALVES))
    assert not has_quantized_values(operation("unknown", F32, F32))
    assert has_per_axis_values(operation("unknown", F32, THIRD_AXIS))
    assert not has_per_axis_values(operation("unknown", F32, HALVES))
    assert element_types(operation("abs", F32, HALVES)) == ([None], [HALVES])


def test_ops_that_compute_take_numbers_and_ops_that_move_take_codes() -> None:
    assert computes_on_numbers(operation("add", HALVES, HALVES, HALVES))
    assert not computes_on_numbers(operation("reshape", HALVES, HALVES))
    (operand,) = plain_operation(operation("negate", HALVES, HALVES)).operands
    assert operand == value("v0", F32)
    (operand,) = plain_operation(operation("reshape", HALVES, HALVES)).operands
    assert operand == value("v0", SI8)


def codes(*numbers: int) -> Array:
    return np.array(numbers, np.int8)


def test_numbers_are_computed_and_rounded_to_codes() -> None:
    """Code 5 is the number 2, and -2 has the code -3; 100 is beyond the largest code."""

    def times(factor: float, plain: Operation, operands: list[Array]) -> tuple[Array, ...]:
        assert plain.name == "negate"
        assert operands[0].dtype == np.float32
        return (np.float32(factor) * operands[0],)

    negate = operation("negate", HALVES, HALVES)
    for factor, code in ((-1, -3), (50, 127)):
        (result,) = quantized.evaluate(negate, [codes(5)], partial(times, factor))
        assert result.tolist() == [code]
        assert result.dtype == np.int8


def test_codes_are_moved_as_they_are() -> None:
    moved = quantized.evaluate(
        operation("reshape", HALVES, HALVES), [codes(5)], lambda _, operands: tuple(operands)
    )
    assert [one.tolist() for one in moved] == [[5]]


def test_a_fold_takes_codes_of_the_results_type() -> None:
    """Code 5 of halves is 2, which is code 2 where a code is its own number."""
    ones = QuantizedType(SI8, -128, 127, F32, (1.0,), (0,))
    fold = operation("reduce", HALVES, HALVES, ones)
    converted = quantized.convert_to_body_types(fold, [codes(5), codes(1)])
    assert [one.tolist() for one in converted] == [[2], [0]]

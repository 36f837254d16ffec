"""Messages of errors: the problem, and the operation as a reader finds it in the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.ir.errors import (
    OutOfMemoryError,
    describe_operation,
    evaluation_error,
    mismatch,
    out_of_memory,
)
from reference.ir.program import FutureType, Operation, TensorType, TokenType, TupleType, Value
from reference.ir.tokens import TOKEN, Future
from reference.ir.types import element_type

F32 = element_type("f32")
VALUES = tuple(Value(name, TensorType((2, None), F32)) for name in "abcde")


def test_results_and_operands_of_an_operation() -> None:
    assert describe_operation(Operation("add", VALUES[:2], VALUES[2:3])) == "%c = add(%a, %b)"
    assert describe_operation(Operation("return", VALUES[:1])) == "return"


def test_more_than_three_values_are_counted() -> None:
    assert describe_operation(Operation("f", VALUES[:3], VALUES[:1])) == "%a = f(%a, %b, %c)"
    described = describe_operation(Operation("f", VALUES, VALUES[:1]))
    assert described == "%a = f(%a, %b, %c, 2 more)"


def test_an_error_has_its_operation() -> None:
    operation = Operation("return")
    error = evaluation_error(operation, "no values")
    assert str(error) == "no values (return)"
    assert (error.operation, error.problem) == (operation, "no values")


def test_lack_of_memory() -> None:
    operation = Operation("return")
    assert str(out_of_memory(operation, MemoryError())) == "out of memory (return)"
    error = out_of_memory(operation, MemoryError("8 GiB"))
    assert isinstance(error, OutOfMemoryError)
    assert (error.operation, error.problem) == (operation, "out of memory: 8 GiB")


TENSOR = TensorType((2, None), F32)
PAIR = TupleType((TENSOR, TokenType()))
ARRAY = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("given", "of"),
    [
        (ARRAY, TENSOR),
        (TOKEN, TokenType()),
        ((ARRAY, TOKEN), PAIR),
        (Future((ARRAY, TOKEN)), FutureType(PAIR.types)),
    ],
)
def test_a_value_of_the_type(given: Any, of: Any) -> None:
    assert mismatch(given, of) == ""


@pytest.mark.parametrize(
    ("given", "of", "why"),
    [
        (2.0, TENSOR, "float given for"),
        (ARRAY.astype(np.float64), TENSOR, "elements of float64 given for"),
        (ARRAY[:1], TENSOR, r"shape \(1, 3\) given for"),
        (ARRAY[0], TENSOR, r"shape \(3,\) given for"),
        (ARRAY, TokenType(), "ndarray given for a token"),
        ((ARRAY,), PAIR, "tuple given for"),
        (ARRAY, PAIR, "ndarray given for"),
        ((ARRAY, 1), PAIR, "int given for a token"),
        ((ARRAY, TOKEN), FutureType(PAIR.types), "tuple given for a future"),
        (Future((TOKEN, TOKEN)), FutureType(PAIR.types), "Token given for"),
    ],
)
def test_a_value_of_another_type(given: Any, of: Any, why: str) -> None:
    with pytest.raises(AssertionError, match=f"^{why}"):
        raise AssertionError(mismatch(given, of))

"""Evaluation errors: exceptions, operations as messages show them, mismatches of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import (
    FutureType,
    Operation,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.tokens import TOKEN, Future

MAX_LISTED_VALUES = 3
"""Maximum number of values of an operation that a message lists; the rest are counted."""


class EvaluationError(ValueError):
    """A program that cannot be evaluated, or not on these inputs.

    `operation` is the operation that cannot be evaluated, if known, which the message
    contains; `problem` is the reason.
    """

    operation: Operation | None = None
    problem: str = ""


class OutOfMemoryError(EvaluationError):
    """An evaluation that needs more memory than is available."""


class DeadlockError(EvaluationError):
    """An evaluation of several processes that wait for each other for ever."""


def out_of_memory(operation: Operation, error: MemoryError) -> OutOfMemoryError:
    """Return the error for an operation that ran out of memory."""
    problem = f"out of memory: {error}" if str(error) else "out of memory"
    found = OutOfMemoryError(f"{problem} ({describe_operation(operation)})")
    found.operation, found.problem = operation, problem
    return found


def evaluation_error(operation: Operation, problem: object) -> EvaluationError:
    """Return the error for an operation, with the message "problem (operation)"."""
    error = EvaluationError(f"{problem} ({describe_operation(operation)})")
    error.operation, error.problem = operation, str(problem)
    return error


def describe_operation(operation: Operation) -> str:
    """Return an operation as messages show it: results, mnemonic, operands."""
    results, operands = _join_names(operation.results), _join_names(operation.operands)
    return f"{results} = {operation.name}({operands})" if results else operation.name


def _join_names(values: Sequence[Value]) -> str:
    names = [f"%{value.name}" for value in values[:MAX_LISTED_VALUES]]
    if len(values) > MAX_LISTED_VALUES:
        names.append(f"{len(values) - MAX_LISTED_VALUES} more")
    return ", ".join(names)


def mismatch(given: Any, value_type: ValueType) -> str:
    """Return why `given` is not a value of the type, or "" if it is."""
    if isinstance(value_type, TensorType):
        return _tensor_mismatch(given, value_type)
    if isinstance(value_type, TokenType):
        return "" if given is TOKEN else f"{type(given).__name__} given for a token"
    if isinstance(value_type, FutureType):
        if not isinstance(given, Future):
            return f"{type(given).__name__} given for a future"
        return mismatch(given.values, TupleType(value_type.types))
    if not isinstance(given, tuple) or len(given) != len(value_type.types):
        return f"{type(given).__name__} given for {value_type}"
    problems = (mismatch(one, part) for one, part in zip(given, value_type.types, strict=True))
    return next(filter(None, problems), "")


def _tensor_mismatch(given: Any, tensor_type: TensorType) -> str:
    if not isinstance(given, np.ndarray):
        return f"{type(given).__name__} given for {tensor_type}"
    if given.dtype != tensor_type.storage:
        return f"elements of {given.dtype} given for {tensor_type}, stored as {tensor_type.storage}"
    if given.shape != tensor_type.shape:
        sizes_agree = len(given.shape) == tensor_type.rank and all(
            size in (None, actual)
            for size, actual in zip(tensor_type.shape, given.shape, strict=True)
        )
        if not sizes_agree:
            return f"shape {given.shape} given for {tensor_type}"
    return ""

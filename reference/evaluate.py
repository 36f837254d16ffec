"""Evaluating programs on numpy arrays, and checking them against the ops' constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.constraints import ConstraintViolation, collecting
from reference.ops import OPS, OpSemantics
from reference.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    ValueType,
)
from reference.types import Array

CustomCall = Callable[..., Array | Sequence[Array]]
OnResult = Callable[[Operation, tuple[Array, ...]], Sequence[Array]]
Environment = dict[str, Array]

IGNORED_ATTRIBUTES = frozenset({"result_accuracy"})
"""Attributes that say how accurate a backend must be: nothing to a correctly rounded result."""


class EvaluationError(ValueError):
    """A program that cannot be evaluated, or not on these inputs; names the operation."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What stays the same during one evaluation."""

    program: Program
    custom_calls: Mapping[str, CustomCall]
    on_result: OnResult | None


def evaluate(
    program: Program,
    inputs: Sequence[Array],
    *,
    process_grid: tuple[int, int] = (1, 1),
    custom_calls: Mapping[str, CustomCall] | None = None,
    on_result: OnResult | None = None,
) -> tuple[Array, ...]:
    """The results of main on `inputs`, arrays of the storage types of its parameters.

    Args:
        program: what to evaluate.
        inputs: one array per parameter of main, of its shape and storage type.
        process_grid: numbers of replicas and of partitions. Every process evaluates the same
            program on the same inputs; ops that do not communicate do not depend on the grid.
        custom_calls: for `custom_call`, by `call_target_name`: a function from arrays to an array
            or to a sequence of arrays.
        on_result: called after each operation with the operation and its results; what it returns
            takes their place.

    Raises:
        EvaluationError: inputs that are not what main takes, an op or function that is not
            known, a result that is not of the stated type.
    """
    if len(process_grid) != 2 or min(process_grid) < 1:
        raise EvaluationError(f"process_grid must be two positive numbers, not {process_grid}")
    try:
        main = program.main
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    _check_inputs(main, inputs)
    with np.errstate(all="ignore"):
        return _call(_Run(program, custom_calls or {}, on_result), main, inputs)


def _check_inputs(main: Function, inputs: Sequence[Array]) -> None:
    if len(inputs) != len(main.arguments):
        raise EvaluationError(f"{main.name} takes {len(main.arguments)} inputs, not {len(inputs)}")
    for number, (given, parameter) in enumerate(zip(inputs, main.arguments, strict=True)):
        problem = _mismatch(given, parameter.type)
        if problem:
            raise EvaluationError(f"input {number} of {main.name} (%{parameter.name}): {problem}")


def _mismatch(given: Any, of: ValueType) -> str:
    """Why this is not an array of that type; "" when it is."""
    if not isinstance(of, TensorType) or not isinstance(given, np.ndarray):
        return f"{type(given).__name__} given for {of}"
    if given.dtype != of.element.storage:
        return f"elements of {given.dtype} given for {of}, stored as {of.element.storage}"
    if given.shape != of.shape:
        sizes_agree = len(given.shape) == of.rank and all(
            size in (None, actual) for size, actual in zip(of.shape, given.shape, strict=True)
        )
        if not sizes_agree:
            return f"shape {given.shape} given for {of}"
    return ""


def _call(run: _Run, function: Function, inputs: Sequence[Array]) -> tuple[Array, ...]:
    return _region(run, function.body, {}, inputs)


def _region(
    run: _Run, region: Region, outer: Environment, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    """Evaluate a block; its operations see the values of the enclosing blocks."""
    values = dict(outer)
    for argument, array in zip(region.arguments, inputs, strict=True):
        values[argument.name] = array
    for operation in region.operations:
        try:
            operands = [values[operand.name] for operand in operation.operands]
        except KeyError as missing:
            raise EvaluationError(f"{described(operation)}: no value %{missing.args[0]}") from None
        if operation.name in ("return", "func.return"):
            return tuple(operands)
        results = _operation(run, operation, operands, values)
        if run.on_result is not None:
            results = tuple(run.on_result(operation, results))
        if len(results) != len(operation.results):
            raise EvaluationError(f"{described(operation)}: gives {len(results)} results")
        for value, array in zip(operation.results, results, strict=True):
            values[value.name] = array
    raise EvaluationError("a block does not end with return")


def _operation(
    run: _Run, operation: Operation, operands: list[Array], values: Environment
) -> tuple[Array, ...]:
    semantics = OPS.get(operation.name)
    if semantics is not None:
        return _op(run, semantics, operation, operands, values)
    if operation.name in ("func.call", "call"):
        return _called(run, operation, operands)
    if operation.name == "custom_call":
        return _custom_call(run, operation, operands)
    raise EvaluationError(f"{described(operation)}: the reference does not know this op")


def _op(
    run: _Run,
    semantics: OpSemantics,
    operation: Operation,
    operands: list[Array],
    values: Environment,
) -> tuple[Array, ...]:
    keywords = given_attributes(operation)
    if semantics.needs_result:
        keywords["result"] = operation.results[0].type
    for name, region in zip(semantics.regions, operation.regions, strict=False):
        keywords[name] = _callable(run, region, values)
    try:
        results = semantics.evaluate(*operands, **keywords)
    except EvaluationError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise EvaluationError(f"{described(operation)}: {_reason(operation, error)}") from error
    results = results if isinstance(results, tuple) else (results,)
    for value, array in zip(operation.results, results, strict=False):
        problem = _mismatch(array, value.type)
        if problem:
            raise EvaluationError(f"{described(operation)}: {_reason(operation, problem)}")
    return results


def _callable(run: _Run, region: Region, values: Environment) -> Callable[..., tuple[Array, ...]]:
    def body(*inputs: Array) -> tuple[Array, ...]:
        return _region(run, region, values, inputs)

    return body


def _called(run: _Run, operation: Operation, operands: list[Array]) -> tuple[Array, ...]:
    callee = operation.attribute("callee")
    try:
        function = run.program.function(str(callee))
    except KeyError as error:
        raise EvaluationError(f"{described(operation)}: {error.args[0]}") from None
    _check_inputs(function, operands)
    try:
        return _call(run, function, operands)
    except RecursionError:
        raise EvaluationError(f"{described(operation)}: {callee} calls itself") from None


def _custom_call(run: _Run, operation: Operation, operands: list[Array]) -> tuple[Array, ...]:
    target = operation.attribute("call_target_name")
    handler = run.custom_calls.get(str(target))
    if handler is None:
        raise EvaluationError(f"{described(operation)}: no handler for the custom call {target!r}")
    given = handler(*operands)
    results = (given,) if isinstance(given, np.ndarray | np.generic) else tuple(given)
    arrays = tuple(np.asarray(result) for result in results)
    for value, array in zip(operation.results, arrays, strict=False):
        problem = _mismatch(array, value.type)
        if problem:
            raise EvaluationError(f"{described(operation)}: handler of {target!r}: {problem}")
    return arrays


def given_attributes(operation: Operation) -> dict[str, Any]:
    """The attributes that the op's semantics takes; those of other dialects say nothing to it."""
    return {
        name: value
        for name, value in operation.attributes
        if name not in IGNORED_ATTRIBUTES and "." not in name
    }


def described(operation: Operation) -> str:
    """The operation as messages name it: its first result, its mnemonic, its operands."""
    results = ", ".join(f"%{value.name}" for value in operation.results)
    operands = ", ".join(f"%{value.name}" for value in operation.operands)
    return f"{results} = {operation.name}({operands})" if results else operation.name


def violations(operation: Operation) -> tuple[str, ...]:
    """The ids of the constraints that an operation breaks, as its operands and results are stated.

    An op whose operands, attributes or results are not even those of the specification breaks
    "operands", "attributes" or "result".
    """
    semantics = OPS.get(operation.name)
    if semantics is None:
        return ()
    if len(operation.results) != 1:
        return ("result",)
    with collecting() as found:
        try:
            semantics.infer(
                *(operand.type for operand in operation.operands),
                result=operation.results[0].type,
                **given_attributes(operation),
            )
        except ConstraintViolation as violation:
            return (*found.ids, violation.id)
    return tuple(found.ids)


def check(program: Program) -> list[tuple[Operation, tuple[str, ...]]]:
    """The operations of a program that break constraints, each with the ids it breaks."""
    broken = ((operation, violations(operation)) for operation in program.walk())
    return [(operation, ids) for operation, ids in broken if ids]


def _reason(operation: Operation, problem: object) -> str:
    """Broken constraints explain a failure better than numpy does."""
    ids = violations(operation)
    return f"breaks {', '.join(ids)}" if ids else str(problem)

"""Programs evaluated with a collective that does something else than it should."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.transforms.extract import with_main
from reference.interpreter.evaluate import evaluate
from reference.interpreter.processes import visited
from reference.ir.errors import EvaluationError
from reference.ir.processes import Process
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.unspecified.reduction import differ

Mistake = Callable[[tuple[Array, ...], Process], Sequence[Array]]
"""mistake(operands, process): what the collective gives in a process, shaped anyhow."""


def gives_with(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    operations: tuple[Operation, ...],
) -> bool:
    """Whether a program gives just what comes of other operations in its main."""
    predicted = evaluate(with_operations(program, operations), inputs)
    return len(predicted) == len(actual) and all(map(alike, predicted, actual))


def with_operations(program: Program, operations: tuple[Operation, ...]) -> Program:
    """The program with other operations in its main."""
    main = program.main
    return with_main(program, replace(main, body=replace(main.body, operations=operations)))


def gives(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    one: Operation,
    mistake: Mistake,
) -> bool:
    """Whether a program gives just what comes of a mistake of its operation `one`, whatever shape
    its results are said to have."""

    def mistaken(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation is not one:
            return results
        here = visited()
        (operands,) = here.take([here.id])
        made = mistake(operands, here)
        if any(mine.size != result.size for mine, result in zip(made, results, strict=True)):
            raise EvaluationError("nothing of the size of the result comes of it")
        return tuple(np.reshape(mine, r.shape) for mine, r in zip(made, results, strict=True))

    try:
        predicted = evaluate(program, inputs, on_result=mistaken)
    except EvaluationError:
        return False
    return len(predicted) == len(actual) and all(map(alike, predicted, actual))


def alike(mine: Array, got: Array) -> bool:
    """Whether two arrays have the same elements, whatever shape they are said to have."""
    if mine.dtype != got.dtype or mine.size != got.size:
        return False
    return not differ(mine.reshape(-1), got.reshape(-1)).any()

"""Programs without the operations that their results do not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.transforms.extract import returning, with_main
from conformance.transforms.values import used_by
from reference.ir.program import Operation, Program, TensorType, Value


def needed(program: Program, values: Sequence[Value]) -> Program:
    """The program that returns these values of main, without operations that they do not need.

    What acts on more than values (tokens, what is sent and received) stays.
    """
    return without_unused(returning(program, values))


def without_unused(program: Program) -> Program:
    """The program without operations of main that its results do not need: dead code.

    What acts on more than values (tokens, what is sent and received) stays, and so do parameters.
    """
    *operations, end = program.main.body.operations
    wanted = {value.name for value in end.operands}
    kept: list[Operation] = []
    for operation in reversed(operations):
        if _acts(operation) or any(value.name in wanted for value in operation.results):
            kept.append(operation)
            wanted |= {value.name for value in used_by(operation)}
    main = program.main
    body = replace(main.body, operations=(*reversed(kept), end))
    return with_main(program, replace(main, body=body))


def _acts(operation: Operation) -> bool:
    """Whether an operation does more than make values, or one in its regions does."""
    plain = operation.results and all(isinstance(v.type, TensorType) for v in operation.results)
    if not plain or operation.attribute("has_side_effect") is True:
        return True
    return any(_acts(inner) for region in operation.regions for inner in region.operations[:-1])

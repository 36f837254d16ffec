"""Programs without the operations that their results do not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.transforms.extract import replace_main, replace_results
from conformance.transforms.values import used_values
from reference.ir.program import Operation, Program, TensorType, Value


def restrict_to(program: Program, values: Sequence[Value]) -> Program:
    """Return the program that computes only these values of main.

    Operations with side effects (tokens, sends and receives) stay.
    """
    return remove_unused(replace_results(program, values))


def remove_unused(program: Program) -> Program:
    """Return the program without dead code: operations of main that no result depends on.

    Operations with side effects (tokens, sends and receives) and parameters stay.
    """
    *operations, end = program.main.body.operations
    wanted = {value.name for value in end.operands}
    kept: list[Operation] = []
    for operation in reversed(operations):
        if _has_side_effects(operation) or any(value.name in wanted for value in operation.results):
            kept.append(operation)
            wanted |= {value.name for value in used_values(operation)}
    main = program.main
    body = replace(main.body, operations=(*reversed(kept), end))
    return replace_main(program, replace(main, body=body))


def _has_side_effects(operation: Operation) -> bool:
    """Return whether an operation, or an operation nested in it, has effects besides its values."""
    plain = operation.results and all(isinstance(v.type, TensorType) for v in operation.results)
    if not plain or operation.attribute("has_side_effect") is True:
        return True
    return any(
        _has_side_effects(inner) for region in operation.regions for inner in region.operations[:-1]
    )

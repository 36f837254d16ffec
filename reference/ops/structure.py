"""The roles of operations in the structure of a program: calls, branches and loops,
host transfers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.op import Structure
from reference.ir.program import Attribute, Operation, TensorType
from reference.ops.table import OPS

_CALLS = {"call": "callee", "func.call": "callee"}
"""Operations of other dialects that call a function, and the attribute that names it."""

MANUAL = "sdy.manual_computation"
"""Shardy's operation whose region each device runs on its shards; jax's `shard_map`."""

_OTHER_DIALECTS = {**dict.fromkeys(_CALLS, Structure.CALLS), MANUAL: Structure.SHARDS}
"""Operations of other dialects that have a role in a program."""

CALLEE = _CALLS | {record.name: record.callee for record in OPS.values() if record.callee}
"""Ops whose result is a function's, and the attribute that names the function."""

CONTROL_FLOW = frozenset(record.name for record in OPS.values() if record.structure.holds_program)
"""Ops whose regions are parts of the program rather than functions that an op applies."""

COMMUNICATION = frozenset(
    record.name for record in OPS.values() if record.structure is Structure.COMMUNICATES
)
"""Ops whose results depend on the process that executes them, or on the others of its group."""

HOST = frozenset(record.name for record in OPS.values() if record.structure is Structure.TRANSFERS)
"""Ops that wait for the host or another process."""

RETURNS = frozenset({"func.return", "return", "sdy.return"})
"""Ops that end a region with its results."""


def computations(operation: Operation) -> tuple[str, ...]:
    """Return the names of the functions that a custom call may apply."""
    names = operation.attribute("called_computations")
    return tuple(map(str, names)) if isinstance(names, tuple) else ()


def named_functions(operation: Operation) -> tuple[str, ...]:
    """Return the names of all functions that an operation refers to: its callee, its
    computations."""
    callees = (operation.attribute(name) for name in dict.fromkeys(CALLEE.values()))
    return (*(name for name in callees if isinstance(name, str)), *computations(operation))


def redirect_calls(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Return an operation with new names for the functions that it refers to; regions unchanged.

    `names` maps old names to new names; other names stay.
    """
    if not named_functions(operation):
        return operation
    callees = set(CALLEE.values())

    def rename_callees(name: str, value: Attribute) -> Attribute:
        if name in callees:
            return names.get(str(value), value)
        if name == "called_computations" and isinstance(value, tuple):
            return tuple(names.get(str(one), str(one)) for one in value)
        return value

    pairs = tuple((name, rename_callees(name, value)) for name, value in operation.attributes)
    return replace(operation, attributes=pairs)


def structure_of(operation: Operation) -> Structure | None:
    """Return the role of an operation in its program; None for operations of other dialects."""
    record = OPS.get(operation.name)
    return _OTHER_DIALECTS.get(operation.name) if record is None else record.structure


def is_constant(operation: Operation) -> bool:
    """Return whether the operation is a constant: the program states its result."""
    return structure_of(operation) is Structure.CONSTANT


def is_static_size(operation: Operation) -> bool:
    """Return whether the operation's result is a static size of its operand."""
    record = OPS.get(operation.name)
    if record is None or not record.returns_sizes:
        return False
    types = [value.type for value in operation.operands]
    return all(isinstance(one, TensorType) and one.is_static for one in types)


def calls_target(operation: Operation) -> bool:
    """Return whether an operation is a custom call, whose meaning is arbitrary."""
    return structure_of(operation) is Structure.CALLS_TARGET


def is_inside(operation: Operation) -> bool:
    """Return whether the regions of an operation are parts of the program, as in a branch, a loop,
    an asynchronous start or a manual computation.
    """
    structure = structure_of(operation)
    return structure is not None and structure.holds_program


def is_structure(operation: Operation) -> bool:
    """Return whether the operation computes nothing itself: constant, branch, loop, call, tuple."""
    structure = structure_of(operation)
    if structure is not None and structure.forwards_values:
        return not any(isinstance(value.type, TensorType) for value in operation.results)
    return is_inside(operation) or structure in (Structure.CONSTANT, Structure.CALLS)

"""What operations are to a program beside what they compute: calls, branches and loops, hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.op import Structure
from reference.ir.program import Attribute, Operation, TensorType
from reference.ops.table import OPS

_CALLS = {"call": "callee", "func.call": "callee"}
"""Operations of other dialects that call a function, and the attribute that names it."""

CALLEE = _CALLS | {record.name: record.callee for record in OPS.values() if record.callee}
"""Ops that stand for what a function computes, and the attribute that names it."""

CONTROL_FLOW = frozenset(record.name for record in OPS.values() if record.structure.holds_program)
"""Ops whose regions are parts of the program rather than functions that an op applies."""

COMMUNICATION = frozenset(
    record.name for record in OPS.values() if record.structure is Structure.COMMUNICATES
)
"""Ops whose results depend on the process that executes them, or on the others of its group."""

HOST = frozenset(record.name for record in OPS.values() if record.structure is Structure.TRANSFERS)
"""Ops that wait for a host, or another process, to do its part."""

RETURNS = frozenset({"func.return", "return", "sdy.return"})
"""Ops that end a region with its results."""


def computations(operation: Operation) -> tuple[str, ...]:
    """The names of the functions that a custom call may apply."""
    names = operation.attribute("called_computations")
    return tuple(map(str, names)) if isinstance(names, tuple) else ()


def named_functions(operation: Operation) -> tuple[str, ...]:
    """The names of all functions that an operation refers to: its callee, its computations."""
    callees = (operation.attribute(name) for name in dict.fromkeys(CALLEE.values()))
    return (*(name for name in callees if isinstance(name, str)), *computations(operation))


def redirected(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Return an operation that refers to functions by their new names, its regions as they are.

    `names` are the new names by the old ones; a name that is not among them stays.
    """
    if not named_functions(operation):
        return operation
    callees = set(CALLEE.values())

    def renamed(name: str, value: Attribute) -> Attribute:
        if name in callees:
            return names.get(str(value), value)
        if name == "called_computations" and isinstance(value, tuple):
            return tuple(names.get(str(one), str(one)) for one in value)
        return value

    pairs = tuple((name, renamed(name, value)) for name, value in operation.attributes)
    return replace(operation, attributes=pairs)


def structure_of(operation: Operation) -> Structure | None:
    """How an operation takes part in its program; None of those of other dialects."""
    record = OPS.get(operation.name)
    if record is None:
        return Structure.CALLS if operation.name in _CALLS else None
    return record.structure


def is_constant(operation: Operation) -> bool:
    """Whether its result is what the program states."""
    return structure_of(operation) is Structure.CONSTANT


def calls_target(operation: Operation) -> bool:
    """Whether it is a custom call, which may mean anything."""
    return structure_of(operation) is Structure.CALLS_TARGET


def is_inside(operation: Operation) -> bool:
    """Whether it is a branch or a loop, in which the program goes on."""
    structure = structure_of(operation)
    return structure is not None and structure.is_inside


def is_structure(operation: Operation) -> bool:
    """Whether it computes nothing of its own: a constant, a branch, a loop, a call, a tuple."""
    structure = structure_of(operation)
    if structure is not None and structure.hands_on:
        return not any(isinstance(value.type, TensorType) for value in operation.results)
    return is_inside(operation) or structure in (Structure.CONSTANT, Structure.CALLS)

"""What operations are to a program beside what they compute: calls, branches and loops, hosts."""

from __future__ import annotations

from reference.ir.op import Structure
from reference.ir.program import Operation
from reference.ops.table import OPS

_CALLS = {"call": "callee", "func.call": "callee"}
"""Operations of other dialects that call a function, and the attribute that names it."""

CALLEE = _CALLS | {record.name: record.callee for record in OPS.values() if record.callee}
"""Ops that stand for what a function computes, and the attribute that names it."""

CONTROL_FLOW = frozenset(record.name for record in OPS.values() if record.structure.holds_program)
"""Ops whose regions are parts of the program rather than functions that an op applies."""

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

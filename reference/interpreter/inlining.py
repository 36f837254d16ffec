"""Calls replaced by the operations of what they call."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ops.structure import CALLEE, CONTROL_FLOW

_NOT_IN_NAMES = re.compile(r"^(?=\d)|[^\w$.-]")
"""What must not stand in the name of a value, or begin it; a function may be called anything."""

MOST_OPERATIONS = 100_000
"""Operations beyond which a program of calls of calls is not written out."""


class NotInlined(ValueError):
    """A program that cannot be written as one function: it calls itself, or is too large."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation of an inlined program stands: its function, and its first result there."""

    function: str
    value: str


def without_calls(operation: Operation, program: Program) -> Operation:
    """An operation of a program whose bodies call no function any more.

    Branches and loops, which are parts of the program, keep their calls.

    Raises:
        NotInlined: when a function calls itself or an unknown one, or too much comes of it.
    """
    if operation.name in CONTROL_FLOW or not any(map(_calls, operation.regions)):
        return operation
    work = Inlining(program)
    regions = tuple(work.region(inner, {}, "", "", ()) for inner in operation.regions)
    return replace(operation, regions=regions)


def _calls(region: Region) -> bool:
    return any(one.name in CALLEE or any(map(_calls, one.regions)) for one in region.operations)


class Inlining:
    """The state of one inlining: functions by name, origins found, calls and operations so far."""

    def __init__(self, program: Program) -> None:
        """Begin with nothing written out."""
        self._functions: dict[str, Function] = {f.name: f for f in program.functions}
        self.origins: dict[str, Origin] = {}
        self._calls = 0
        self._operations = 0

    def region(
        self,
        region: Region,
        values: dict[str, Value],
        function: str,
        prefix: str,
        active: tuple[str, ...],
    ) -> Region:
        """A region with its values renamed and its calls written out; adds to `values`.

        Values that are not in `values` are those around what is inlined, and keep their names.

        Raises:
            NotInlined: when a function calls itself or an unknown one, or too much comes of it.
        """
        arguments = tuple(Value(prefix + a.name, a.type) for a in region.arguments)
        if region.arguments and region.arguments[0].name not in values:
            values.update(zip((a.name for a in region.arguments), arguments, strict=True))
        elif region.arguments:
            arguments = tuple(values[a.name] for a in region.arguments)
        kept: list[Operation] = []
        for operation in region.operations:
            if operation.name in CALLEE:
                kept += self._called(operation, values, active)
            else:
                kept.append(self._renamed(operation, values, function, prefix, active))
        return Region(arguments, tuple(kept))

    def _renamed(
        self,
        operation: Operation,
        values: dict[str, Value],
        function: str,
        prefix: str,
        active: tuple[str, ...],
    ) -> Operation:
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise NotInlined(f"more than {MOST_OPERATIONS} operations once calls are written out")
        regions = tuple(
            self.region(inner, dict(values), function, prefix, active)
            for inner in operation.regions
        )
        results = tuple(Value(prefix + v.name, v.type) for v in operation.results)
        operands = tuple(values.get(v.name, v) for v in operation.operands)
        for old, new in zip(operation.results, results, strict=True):
            values[old.name] = new
            self.origins[new.name] = Origin(function, operation.results[0].name)
        return replace(operation, operands=operands, results=results, regions=regions)

    def _called(
        self, operation: Operation, values: dict[str, Value], active: tuple[str, ...]
    ) -> list[Operation]:
        name = str(operation.attribute(CALLEE[operation.name]))
        function = self._functions.get(name)
        if function is None:
            raise NotInlined(f"no function is called {name}")
        if name in active:
            raise NotInlined(f"function {name} calls itself")
        self._calls += 1
        given = [values.get(v.name, v) for v in operation.operands]
        inside = {a.name: v for a, v in zip(function.arguments, given, strict=True)}
        prefix = f"{_NOT_IN_NAMES.sub('_', name)}.{self._calls}."
        body = self.region(function.body, inside, name, prefix, (*active, name))
        for old, new in zip(operation.results, body.operations[-1].operands, strict=True):
            values[old.name] = new
        return list(body.operations[:-1])

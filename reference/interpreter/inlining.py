"""Inlining: calls replaced by the operations of their callees."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ops.structure import CALLEE, is_inside

_NOT_IN_NAMES = re.compile(r"^(?=\d)|[^\w$.-]")
"""Characters that a value name cannot contain or begin with; function names may be any string."""

MAX_OPERATIONS = 100_000
"""Maximum number of operations of an inlined program."""


class NotInlined(ValueError):
    """A program that cannot be inlined: it calls itself, or is too large."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an operation of an inlined program: its function and its first result there."""

    function: str
    value: str


def inline_calls(operation: Operation, program: Program) -> Operation:
    """Return an operation with all calls in its bodies inlined.

    Branches and loops, which are parts of the program, keep their calls.

    Raises:
        NotInlined: if a function calls itself or an unknown function, or the result is too large.
    """
    if is_inside(operation) or not any(map(_calls, operation.regions)):
        return operation
    work = Inlining(program)
    regions = tuple(work.region(inner, {}, "", "", ()) for inner in operation.regions)
    return replace(operation, regions=regions)


def _calls(region: Region) -> bool:
    return any(
        operation.name in CALLEE or any(map(_calls, operation.regions))
        for operation in region.operations
    )


class Inlining:
    """The state of one inlining: functions by name, origins, numbers of calls and operations."""

    def __init__(self, program: Program) -> None:
        """Start to inline a program, with no operations yet."""
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
        """Return a region with its values renamed and its calls inlined; extend `values`.

        Values that are not in `values` are defined outside and keep their names.

        Raises:
            NotInlined: if a function calls itself or an unknown function, or the result is too
                large.
        """
        arguments = tuple(Value(prefix + a.name, a.type) for a in region.arguments)
        if region.arguments and region.arguments[0].name not in values:
            values.update(zip((a.name for a in region.arguments), arguments, strict=True))
        elif region.arguments:
            arguments = tuple(values[a.name] for a in region.arguments)
        kept: list[Operation] = []
        for operation in region.operations:
            if operation.name in CALLEE:
                kept += self._inline_call(operation, values, active)
            else:
                kept.append(self._rename_values(operation, values, function, prefix, active))
        return Region(arguments, tuple(kept))

    def _rename_values(
        self,
        operation: Operation,
        values: dict[str, Value],
        function: str,
        prefix: str,
        active: tuple[str, ...],
    ) -> Operation:
        self._operations += 1
        if self._operations > MAX_OPERATIONS:
            raise NotInlined(f"more than {MAX_OPERATIONS} operations once calls are written out")
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

    def _inline_call(
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

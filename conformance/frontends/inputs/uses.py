"""Needs of a program's parameters, derived from the operations that use them.

Needs arise at operations: a square root, a gather. From there they are followed back to where the
values come from, through arithmetic, data movement, loops and branches. A need that cannot be
followed is dropped: an input drawn without it is valid, but tests less.

Programs here are one function (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite

from conformance.catalog import numbers_of
from conformance.frontends.inputs.ranges import known_values
from conformance.needs.need import ANY, Need, conjunction
from conformance.needs.operand_needs import trip_count_needs
from conformance.needs.propagation import SMALL
from conformance.needs.ranges import KnownValues, copied_operands
from reference.ir.notation import is_quantized
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, Value
from reference.ops.structure import is_inside, structure_of

_DEEPEST = 3
"""Depth of nested loops up to which bodies are followed twice: one iteration uses the results of
another.
"""


def needs_of(program: Program) -> tuple[Need, ...]:
    """Return the need of each parameter of main; quantized parameters have no need."""
    work = Uses(program)
    work.follow(program.main.body)
    return tuple(
        ANY if is_quantized(argument.type) else work.needs.get(argument.name, ANY)
        for argument in program.main.arguments
    )


class Uses:
    """Needs of values by name found so far, and known facts about values."""

    def __init__(self, program: Program) -> None:
        """Compute the ranges of a program's values, and index the operations that define them."""
        self.needs: dict[str, Need] = {}
        self._known = known_values(program)
        self._depth = 0

    def add(self, value: Value, need: Need) -> None:
        """Record a need, without the part that every input satisfies."""
        low, high = self._known.ranges[value.name]
        if need.is_empty:
            return
        if need.low <= low and not (need.is_open and need.low == low):
            need = replace(need, low=-inf)
        if need.high >= high and not (need.is_open and need.high == high):
            need = replace(need, high=inf)
        if not (isfinite(need.low) or isfinite(need.high)):
            need = replace(need, is_open=False)
        if need.nonzero and (low > SMALL or high < -SMALL):
            need = replace(need, nonzero=False)
        if need != ANY:
            self.needs[value.name] = conjunction(self.needs.get(value.name, ANY), need)

    def follow(self, region: Region) -> None:
        """Find the needs of the operands in a region, from the last operation to the first."""
        for operation in reversed(region.operations):
            needs = [self.needs.get(value.name, ANY) for value in operation.results]
            if operation.regions:
                self._follow_regions(operation, needs)
            for index, need in enumerate(needs):
                if need != ANY:
                    for value in copied_operands(operation, index):
                        if not _is_guarded(value, operation, self._known):
                            self.add(value, need)
            need = needs[0] if needs else ANY
            for rule in numbers_of(operation).rules:
                for value, found in rule(operation, need, self._known):
                    self.add(value, found)

    def _follow_regions(self, operation: Operation, needs: Sequence[Need]) -> None:
        """Find the needs of an operation's region results, from the needs of its results, and of
        its operands that become region arguments.
        """
        if structure_of(operation) is Structure.LOOPS:
            self._follow_loop(operation, needs)
            return
        for region in operation.regions:
            ends = region.operations[-1].operands
            if operation.name not in _COMPARING:
                for value, need in zip(ends, needs, strict=False):
                    self.add(value, need)
            self.follow(region)
            given = _region_operands(operation, len(region.arguments))
            for argument, operand in zip(region.arguments, given, strict=False):
                self._propagate_need(argument, operand)

    def _follow_loop(self, operation: Operation, needs: Sequence[Need]) -> None:
        condition, body = operation.regions
        self._depth += 1
        for _ in range(2 if self._depth <= _DEEPEST else 1):
            carried_ = [self.needs.get(argument.name, ANY) for argument in body.arguments]
            ends = body.operations[-1].operands
            for value, need, inside in zip(ends, needs, carried_, strict=True):
                self.add(value, conjunction(need, inside))
            self.follow(body)
        self._depth -= 1
        for value, need in trip_count_needs(condition.operations[-1].operands[0], self._known):
            self.add(value, need)
        self.follow(condition)
        for index, operand in enumerate(operation.operands):
            self.add(operand, needs[index])
            for region in (body, condition):
                self._propagate_need(region.arguments[index], operand)

    def _propagate_need(self, argument: Value, operand: Value) -> None:
        if need := self.needs.get(argument.name):
            self.add(operand, need)


_COMPARING = ("select_and_scatter", "sort")
"""Ops whose first region returns values that are not results of the op."""


def _region_operands(operation: Operation, count: int) -> tuple[Value, ...]:
    """Return the operands whose elements become the arguments of a region."""
    operands = operation.operands
    if operation.name in ("reduce", "reduce_window"):
        return (*operands[count // 2 :], *operands[: count // 2])
    if operation.name == "scatter":
        return (*operands[: count // 2], *operands[count // 2 + 1 :])
    if operation.name == "sort":
        return tuple(value for value in operands for _ in range(2))
    return operands if operation.name == "map" or is_inside(operation) else ()


def _is_guarded(value: Value, operation: Operation, known: KnownValues) -> bool:
    """Return whether a value is selected only where a comparison of itself allows it."""
    if operation.name != "select":
        return False
    predicate, *branches = operation.operands
    others = [known.ranges[branch.name] for branch in branches if branch.name != value.name]
    made_by = known.makers.get(predicate.name)
    compared = made_by.operands if made_by is not None and made_by.name == "compare" else ()
    return any(one.is_finite for one in others) and value.name in {one.name for one in compared}

"""All results of a program together: what rules and hypotheses say of them, each asked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from conformance.tolerance.rule import Measure, Rule
from conformance.transforms.substitute import self_contained
from conformance.transforms.values import evaluated
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

Operands = Callable[[], tuple[Operation, tuple[Array, ...]]]


@dataclass(frozen=True)
class Together:
    """All results of a program on one set of inputs, for what is asked of them together."""

    rule: Rule
    operands: Operands
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    _errors: dict[Measure, tuple[Array, ...]] = field(
        default_factory=dict[Measure, tuple[Array, ...]]
    )

    @cached_property
    def _bounds(self) -> tuple[Array | None, ...]:
        if self.rule.bound is None:
            return (None,) * len(self.expected)
        with np.errstate(all="ignore"):
            return self.rule.bound(*self.operands(), self.expected)

    @cached_property
    def _permitted(self) -> tuple[Array | None, ...]:
        if self.rule.permits is None:
            return (None,) * len(self.expected)
        with np.errstate(all="ignore"):
            return self.rule.permits(*self.operands(), self.expected, self.actual)

    @cached_property
    def _measured(self) -> tuple[Array | None, ...]:
        if self.rule.measure is None:
            return (None,) * len(self.expected)
        with np.errstate(all="ignore"):
            return self.rule.measure(*self.operands(), self.expected, self.actual)

    @cached_property
    def _excluded(self) -> tuple[Sequence[tuple[str, Array]], ...]:
        if self.rule.excludes is None:
            return ((),) * len(self.expected)
        with np.errstate(all="ignore"):
            return self.rule.excludes(*self.operands(), self.expected, self.actual)

    @cached_property
    def _either(self) -> tuple[Array | None, ...]:
        if self.rule.either_zero is None:
            return (None,) * len(self.expected)
        with np.errstate(all="ignore"):
            return self.rule.either_zero(*self.operands(), self.expected)

    def by_measure(self, measure: Measure, number: int) -> Array:
        """The errors of result `number` by the measure of a hypothesis."""
        if measure not in self._errors:
            with np.errstate(all="ignore"):
                found = measure(*self.operands(), self.expected, self.actual)
            self._errors[measure] = found
        return self._errors[measure][number]

    def bound(self, number: int) -> Array | None:
        """The largest permitted errors of result `number`, where the rule has such."""
        return self._bounds[number]

    def permitted(self, number: int) -> Array | None:
        """Which elements of result `number` are right together with all others."""
        return self._permitted[number]

    def measured(self, number: int) -> Array | None:
        """The errors of result `number` in units of what is permitted, if the rule measures."""
        return self._measured[number]

    def excluded(self, number: int) -> Sequence[tuple[str, Array]]:
        """Which elements of result `number` no reading of the specification permits, and why."""
        return self._excluded[number]

    def either_zero(self, number: int) -> Array | None:
        """Which zeros of result `number` may have either sign, where the rule has such."""
        return self._either[number]


def tracer(program: Program, inputs: Sequence[Array]) -> Operands:
    """The program's last operation and its operands, evaluated when first asked for."""
    kept: list[tuple[Operation, tuple[Array, ...]]] = []

    def operands() -> tuple[Operation, tuple[Array, ...]]:
        if not kept:
            main = program.main
            last = program.subject
            known: dict[str, Any] = {
                of.name: array for of, array in zip(main.arguments, inputs, strict=True)
            }
            for operation in main.body.operations[:-2]:
                value = operation.attribute("value")
                known |= {of.name: getattr(value, "array", None) for of in operation.results}
            if not all(map(is_constant, main.body.operations[:-2])):
                known |= evaluated(program, inputs)
            taken = tuple(known[operand.name] for operand in last.operands)
            kept.append((self_contained(last, known), taken))
        return kept[0]

    return operands

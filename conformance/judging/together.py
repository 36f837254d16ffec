"""All results of a program together: what rules and hypotheses say of them, each asked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.tolerance.rule import Measure, Rule
from conformance.transforms.substitute import self_contained
from conformance.transforms.values import evaluated
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

Operands = Callable[[], tuple[Operation, tuple[Array, ...]]]


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule says of the elements of one result; None where it says nothing.

    `bound` has the largest permitted errors, `permitted` those elements that are right together
    with all others, `measured` the errors in units of what is permitted, `excluded` those that no
    reading of the specification permits, and why, `either_zero` the zeros that may have either
    sign.
    """

    bound: Array | None = None
    permitted: Array | None = None
    measured: Array | None = None
    excluded: Sequence[tuple[str, Array]] = ()
    either_zero: Array | None = None


@dataclass(frozen=True)
class Together:
    """All results of a program on one set of inputs, for what is asked of them together."""

    rule: Rule
    operands: Operands
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    _answers: dict[Any, tuple[Any, ...]] = field(default_factory=dict[Any, tuple[Any, ...]])

    def said(self, number: int) -> Said:
        """Return what the rule says of result `number`."""
        rule = self.rule
        return Said(
            self._of_expected(rule.bound)[number],
            self._of_both(rule.permits)[number],
            self._of_both(rule.measure)[number],
            self._of_both(rule.excludes)[number] or (),
            self._of_expected(rule.either_zero)[number],
        )

    def by_measure(self, measure: Measure, number: int) -> Array:
        """Return the errors of result `number` by the measure of a hypothesis."""
        return self._of_both(measure)[number]

    def _of_expected(self, ask: Callable[..., tuple[Any, ...]] | None) -> tuple[Any, ...]:
        return self._once(ask, self.expected)

    def _of_both(self, ask: Callable[..., tuple[Any, ...]] | None) -> tuple[Any, ...]:
        return self._once(ask, self.expected, self.actual)

    def _once(
        self, ask: Callable[..., tuple[Any, ...]] | None, *given: tuple[Array, ...]
    ) -> tuple[Any, ...]:
        """Return an answer about each result, None where nobody is asked."""
        if ask is None:
            return (None,) * len(self.expected)
        if ask not in self._answers:
            with np.errstate(all="ignore"):
                self._answers[ask] = ask(*self.operands(), *given)
        return self._answers[ask]


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

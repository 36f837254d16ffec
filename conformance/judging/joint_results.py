"""All results of a program, and the cached answers of rules and hypotheses about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.tolerance.rule import Measure, Rule
from conformance.transforms.substitute import embed_free_values
from conformance.transforms.values import evaluate_values
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

Operands = Callable[[], tuple[Operation, tuple[Array, ...]]]


@dataclass(frozen=True, slots=True)
class RuleAnswers:
    """A rule's answers about the elements of one result; None where it has none.

    `bound` has the largest permitted errors and `measured` the errors in units of the permitted
    error. `permitted` marks elements that are right, given all other elements. `excluded` has label
    and mask of elements that no reading of the specification permits. `either_zero` marks zeros of
    either sign.
    """

    bound: Array | None = None
    permitted: Array | None = None
    measured: Array | None = None
    excluded: Sequence[tuple[str, Array]] = ()
    either_zero: Array | None = None


@dataclass(frozen=True)
class JointResults:
    """All results of a program on one set of inputs, for questions about them as a whole."""

    rule: Rule
    operands: Operands
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    _answers: dict[Any, tuple[Any, ...]] = field(default_factory=dict[Any, tuple[Any, ...]])

    def rule_answers(self, number: int) -> RuleAnswers:
        """Return the rule's answers about result `number`."""
        rule = self.rule
        return RuleAnswers(
            self._ask_about_expected(rule.bound)[number],
            self._ask_about_both(rule.permits)[number],
            self._ask_about_both(rule.measure)[number],
            self._ask_about_both(rule.excludes)[number] or (),
            self._ask_about_expected(rule.either_zero)[number],
        )

    def measured_errors(self, measure: Measure, number: int) -> Array:
        """Return the errors of result `number` by the measure of a hypothesis."""
        return self._ask_about_both(measure)[number]

    def _ask_about_expected(self, ask: Callable[..., tuple[Any, ...]] | None) -> tuple[Any, ...]:
        return self._cached_answer(ask, self.expected)

    def _ask_about_both(self, ask: Callable[..., tuple[Any, ...]] | None) -> tuple[Any, ...]:
        return self._cached_answer(ask, self.expected, self.actual)

    def _cached_answer(
        self, ask: Callable[..., tuple[Any, ...]] | None, *given: tuple[Array, ...]
    ) -> tuple[Any, ...]:
        """Return an answer about each result, None for each if there is no function to ask."""
        if ask is None:
            return (None,) * len(self.expected)
        if ask not in self._answers:
            with np.errstate(all="ignore"):
                self._answers[ask] = ask(*self.operands(), *given)
        return self._answers[ask]


def operand_tracer(program: Program, inputs: Sequence[Array]) -> Operands:
    """Return a function that gives the program's last operation and its operands.

    They are evaluated at the first call.
    """
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
                known |= evaluate_values(program, inputs)
            taken = tuple(known[operand.name] for operand in last.operands)
            kept.append((embed_free_values(last, known), taken))
        return kept[0]

    return operands

"""Outcomes: the verdict on a program, with its class and its known causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from conformance.backends.base import Unsupported, failure_of
from conformance.catalog import column_of
from conformance.gate.expectations import Expectation, Failure, matching_entry
from conformance.judging.judgement import Judgement
from conformance.verdict import Element, Verdict
from reference.ir.program import Program
from reference.ir.types import Array

NOT_EVALUATED = "not evaluated"
"""The class of programs for which the reference has no result."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a program of `check`, `fuzz` or a counterexample. Subclasses add fields.

    Unlike a `Judgement`, it names the operation at fault and the matching expectations, and also
    exists for programs without results. A case of `run` has a `Record`.

    `kind` is the class. `elements` are the first that are wrong. `operation` describes the
    operation at fault; `culprit` is its name in expectations, with the element type ("" if
    unknown). `fault` is verdict and class of that operation in isolation, if the program has
    several. `known` are the ids of the expectations that match it.
    """

    verdict: Verdict
    kind: str = ""
    message: str = ""
    operation: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()
    culprit: str = ""
    fault: tuple[Verdict, str] | None = None

    @property
    def is_new_failure(self) -> bool:
        """Whether the program fails, and no expectation matches the failure."""
        return self.verdict.fails and not self.known

    @property
    def severity(self) -> tuple[bool, int]:
        """The rank among outcomes: a new failure is worse than a known failure."""
        return self.is_new_failure, self.verdict.severity

    @classmethod
    def of(cls, outcome: Outcome, **more: Any) -> Self:
        """Return an outcome of this class with the fields of another, and further fields."""
        same = {field.name: getattr(outcome, field.name) for field in fields(Outcome)}
        return cls(**{**same, **more})

    @classmethod
    def from_judgement(cls, judgement: Judgement) -> Self:
        """Return the outcome of a judgement, without the operation at fault."""
        found = judgement.verdict, judgement.kind, judgement.message
        return cls(*found, elements=judgement.elements)


class NotJudged(Exception):
    """A program that is not judged, with its outcome."""

    def __init__(
        self, message: str, kind: str = NOT_EVALUATED, verdict: Verdict = Verdict.NOT_JUDGED
    ) -> None:
        """Store the reason as the message, the class and the verdict."""
        super().__init__(message)
        self.outcome = Outcome(verdict, kind, message)

    @classmethod
    def by_backend(cls, error: Unsupported) -> Self:
        """Return the error for a program that a backend does not implement, or whose results
        cannot be read.
        """
        verdict, kind = failure_of(error)
        return cls(str(error), kind or "not implemented by the backend", verdict)


Settled = Callable[[Outcome, Sequence[Array], Sequence[Array]], None]
"""A function settled(outcome, expected, actual) that is called with a failure before its
explanation.
"""


def ignore(outcome: Outcome, expected: Sequence[Array], actual: Sequence[Array]) -> None:
    """Do nothing: for callers that do not need failures before they are explained."""
    del outcome, expected, actual


def known_loss(
    program: Program, expectations: Sequence[Expectation], backend: str, outcome: Outcome
) -> Outcome:
    """Return the outcome with the expectations that match some operation of a program without
    results.

    If a program crashes or is refused, the operation at fault is unknown.
    """
    said = (outcome.verdict, outcome.kind, outcome.message)
    ids = (
        matching_entry(
            expectations,
            Failure(operation.name, column_of(operation), backend, *said, operation=operation),
        )
        for operation in program.walk()
    )
    return replace(outcome, known=tuple(dict.fromkeys(filter(None, ids))))

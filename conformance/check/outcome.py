"""What a program on a set of inputs comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.verdict import Element, Verdict
from reference.ir.types import Array


class NotJudged(Exception):
    """A program that is not checked, and why: `kind` is the class."""

    def __init__(self, message: str, kind: str = "not evaluated") -> None:
        """The reason, and its class."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program on one set of inputs.

    `operation` says in words which goes wrong; `culprit` is what expectations call it, with the
    element type ("" where neither can be told). `fault` is verdict and class of that operation by
    itself, where the program has several.
    """

    verdict: Verdict
    kind: str = ""
    message: str = ""
    operation: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()
    culprit: str = ""
    fault: tuple[Verdict, str] | None = None


Settled = Callable[[Outcome, Sequence[Array], Sequence[Array]], None]
"""settled(outcome, expected, actual): called with a failure before it is explained."""


def ignore(outcome: Outcome, expected: Sequence[Array], actual: Sequence[Array]) -> None:
    """Do nothing with a settled outcome."""
    del outcome, expected, actual

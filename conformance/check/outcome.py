"""What a program on a set of inputs comes to."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.verdict import Element, Verdict


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
    element type ("" where neither can be told).
    """

    verdict: Verdict
    kind: str = ""
    message: str = ""
    operation: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()
    culprit: str = ""

"""One way to explain elements: questions asked in order, of which the first yes decides.

An op's own rule supplies the questions for results of single operations (classify.py), perturbed
evaluations those for results of programs (perturbation/judge.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from conformance.verdict import Verdict
from reference.ir.types import Array

Finding = tuple[Verdict, str]
"""A verdict and its class label."""

Predicted = Callable[[], Array]
"""predicted(): a mask of the elements that are near what a class predicts (by `NEAR`)."""

Answer = Iterable[tuple[Verdict, str, Array] | tuple[Verdict, str, Array, Predicted]]
"""Verdicts and class labels, each with a mask of the elements that it explains. A class that
predicts values has a mask of the predicted elements beside it, evaluated where it explains any."""

_WITH_PREDICTION = 4

Evidence = TypeVar("Evidence")
Question = Callable[[Evidence], Answer]
"""question(evidence): what it says of the elements; later answers cost nothing unless needed."""


@dataclass
class Findings:
    """What was found of each element: `table[codes[i]]`, nothing where the code is negative.

    `predicted` are the elements that are as their class predicts, within `hypothesis.NEAR` ulp.
    """

    codes: Array
    predicted: Array
    table: list[Finding] = field(default_factory=list[Finding])

    @property
    def complete(self) -> bool:
        """Whether every element is explained."""
        return bool((self.codes >= 0).all())

    def add(
        self, verdict: Verdict, kind: str, mask: Array, predicted: Predicted | None = None
    ) -> None:
        """Explain those elements of the mask that are not explained yet."""
        explained = (self.codes < 0) & mask
        if explained.any():
            self.codes[explained] = len(self.table)
            if predicted is not None:
                self.predicted |= explained & predicted()
            self.table.append((verdict, kind))

    def all(self) -> list[Finding]:
        """The finding of every element, in order."""
        return [self.table[code] for code in self.codes.tolist()]


def limited(answers: Answer, to: Array) -> Answer:
    """Yield what answers say of some elements alone."""
    for answer in answers:
        if len(answer) == _WITH_PREDICTION:
            yield *answer[:2], answer[2] & to, answer[3]
        else:
            yield *answer[:2], answer[2] & to


def ask(questions: Sequence[Question[Evidence]], evidence: Evidence, count: int) -> Findings:
    """Ask questions about `count` elements until all are explained; the last explains any."""
    findings = Findings(np.full(count, -1), np.zeros(count, np.bool_))
    with np.errstate(all="ignore"):
        for question in questions:
            for answer in question(evidence):
                findings.add(*answer[:3], answer[3] if len(answer) == _WITH_PREDICTION else None)
                if findings.complete:
                    return findings
    return findings


def exactly(mask: Array) -> tuple[Array, Predicted]:
    """Elements that a class explains only where they are bit for bit what it predicts."""
    return mask, lambda: mask

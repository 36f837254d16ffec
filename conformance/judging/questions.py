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

Answer = Iterable[tuple[Verdict, str, Array]]
"""Verdicts and class labels, each with a mask of the elements that it explains."""

Evidence = TypeVar("Evidence")
Question = Callable[[Evidence], Answer]
"""question(evidence): what it says of the elements; later answers cost nothing unless needed."""


@dataclass
class Findings:
    """What was found of each element: `table[codes[i]]`, nothing where the code is negative."""

    codes: Array
    table: list[Finding] = field(default_factory=list[Finding])

    @property
    def complete(self) -> bool:
        """Whether every element is explained."""
        return bool((self.codes >= 0).all())

    def add(self, verdict: Verdict, kind: str, mask: Array) -> None:
        """Explain those elements of the mask that are not explained yet."""
        explained = (self.codes < 0) & mask
        if explained.any():
            self.codes[explained] = len(self.table)
            self.table.append((verdict, kind))

    def all(self) -> list[Finding]:
        """The finding of every element, in order."""
        return [self.table[code] for code in self.codes.tolist()]


def ask(questions: Sequence[Question[Evidence]], evidence: Evidence, count: int) -> Findings:
    """Ask questions about `count` elements until all are explained; the last explains any."""
    findings = Findings(np.full(count, -1))
    with np.errstate(all="ignore"):
        for question in questions:
            for verdict, kind, mask in question(evidence):
                findings.add(verdict, kind, mask)
                if findings.complete:
                    return findings
    return findings

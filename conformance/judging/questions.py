"""Classification of elements by questions asked in order; the first yes decides.

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

VerdictClass = tuple[Verdict, str]
"""A verdict and its class label."""

Predicted = Callable[[], Array]
"""A function that returns a mask of the elements within `NEAR` ulp of the prediction of a class."""

Answer = Iterable[tuple[Verdict, str, Array] | tuple[Verdict, str, Array, Predicted]]
"""Verdicts and class labels, each with a mask of the elements that it explains. A class that
predicts values adds a mask of the predicted elements, evaluated only if it explains any."""

_WITH_PREDICTION = 4

Evidence = TypeVar("Evidence")
Question = Callable[[Evidence], Answer]
"""A function question(evidence) that yields answers about the elements; an answer is computed on
demand.
"""


@dataclass
class ElementClasses:
    """The class of each element: `table[codes[i]]`; a negative code means not classified yet.

    `predicted` marks the elements within `hypothesis.NEAR` ulp of the prediction of their class.
    `details` has what follows a class and a colon in the labels of each entry of the table, such as
    "flushed: operands".
    """

    codes: Array
    predicted: Array
    table: list[VerdictClass] = field(default_factory=list[VerdictClass])
    details: list[set[str]] = field(default_factory=list[set[str]])

    @property
    def is_complete(self) -> bool:
        """Whether every element is explained."""
        return bool((self.codes >= 0).all())

    def add(
        self, verdict: Verdict, kind: str, mask: Array, predicted: Predicted | None = None
    ) -> None:
        """Assign a verdict and a kind to the elements of the mask that are not explained yet."""
        explained = (self.codes < 0) & mask
        if explained.any():
            kind, detail = split_label(kind)
            if (verdict, kind) not in self.table:
                self.table.append((verdict, kind))
                self.details.append(set())
            code = self.table.index((verdict, kind))
            self.details[code].add(detail)
            self.codes[explained] = code
            if predicted is not None:
                self.predicted |= explained & predicted()

    def detail(self, code: int) -> str:
        """Return the detail of all elements of a class, or "" if they have several."""
        return next(iter(self.details[code])) if len(self.details[code]) == 1 else ""

    def per_element(self) -> list[VerdictClass]:
        """Return verdict and class of every element, in order."""
        return [self.table[code] for code in self.codes.tolist()]


def split_label(label: str) -> tuple[str, str]:
    """Return the class and the detail in a label such as "flushed: operands"."""
    kind, _, detail = label.partition(": ")
    return (kind, detail) if kind == "flushed" else (label, "")


def restrict_answers(answers: Answer, to: Array) -> Answer:
    """Yield answers with their masks restricted to some elements."""
    for answer in answers:
        if len(answer) == _WITH_PREDICTION:
            yield *answer[:2], answer[2] & to, answer[3]
        else:
            yield *answer[:2], answer[2] & to


def ask(questions: Sequence[Question[Evidence]], evidence: Evidence, count: int) -> ElementClasses:
    """Ask questions about `count` elements until all are explained.

    The last question must explain any element.
    """
    findings = ElementClasses(np.full(count, -1), np.zeros(count, np.bool_))
    with np.errstate(all="ignore"):
        for question in questions:
            for answer in question(evidence):
                findings.add(*answer[:3], answer[3] if len(answer) == _WITH_PREDICTION else None)
                if findings.is_complete:
                    return findings
    return findings


def exact_match(mask: Array) -> tuple[Array, Predicted]:
    """Return a mask with a prediction: the class explains only elements it predicts bit for bit."""
    return mask, lambda: mask

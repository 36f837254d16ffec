"""The cause of a finding, and the third vote on it, as they are reported."""

from __future__ import annotations

from dataclasses import dataclass, field

RIGHT, WRONG, NO_ANSWER = "right", "wrong", "no answer"
"""Outcomes of a variant of a finding's program: rewritten, or compiled with other settings."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The outcomes of the program's variants, by their names: `RIGHT`, `WRONG`, `NO_ANSWER`.

    `note` says which variants could not be tried, and why. `is_partial`: there was no time to try
    all. `culprit` is the step of the compiler that goes wrong, "" where no stage shows it.
    """

    ways: dict[str, str] = field(default_factory=dict[str, str])
    note: str = ""
    is_partial: bool = False
    culprit: str = ""

    @property
    def passing_variants(self) -> list[str]:
        """The variants that make the divergence disappear."""
        return [name for name, came_to in self.ways.items() if came_to == RIGHT]

    @property
    def line(self) -> str:
        """The culprit and the variants without the failure, in a line; "" if nothing was tried."""
        told = "wrong in every variant tried" if WRONG in self.ways.values() else ""
        if self.passing_variants:
            told = f"gone {', '.join(self.passing_variants)}"
        return "; ".join(filter(None, (self.culprit, told)))

    @property
    def sentences(self) -> list[str]:
        """The cause in sentences: variants without the failure, variants with it, variants that
        were not tried.
        """
        told: list[str] = []
        for came_to, words in _WORDS.items():
            names = [name for name, vote in self.ways.items() if vote == came_to]
            if names:
                told.append(f"{words} {'; '.join(names)}.")
        last = [f"{one[:1].upper()}{one[1:]}." for one in (self.culprit, self.note) if one]
        return [*told, *last]


_WORDS = {
    RIGHT: "The result is right",
    WRONG: "The result is wrong",
    NO_ANSWER: "No answer",
}

AGAINST_BACKEND = "reference and interpreter against the backend"
AGAINST_REFERENCE = "the reference against interpreter and backend: suspect the reference first"
ALL_DIFFER = "no two of reference, interpreter and backend agree"
NO_VOTE = "the interpreter has no vote"


@dataclass(frozen=True, slots=True)
class Vote:
    """The vote of StableHLO's interpreter on a finding; `why` is the reason for no vote."""

    words: str = ""
    why: str = ""

    @property
    def line(self) -> str:
        """The vote in one line; "" if there is none."""
        return f"{self.words} ({self.why})" if self.why else self.words

"""What is told of a finding's cause, and of the third vote on it."""

from __future__ import annotations

from dataclasses import dataclass, field

RIGHT, WRONG, NO_ANSWER = "right", "wrong", "no answer"
"""What a finding's program comes to when it is compiled or written otherwise."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What the program came to in other ways, by their names: `RIGHT`, `WRONG`, `NO_ANSWER`.

    `note` says what could not be asked, and why; `is_partial`: there was no time to ask all.
    """

    ways: dict[str, str] = field(default_factory=dict[str, str])
    note: str = ""
    is_partial: bool = False

    @property
    def vanishing(self) -> list[str]:
        """The ways that make the divergence vanish."""
        return [name for name, came_to in self.ways.items() if came_to == RIGHT]

    @property
    def line(self) -> str:
        """What makes it vanish, in a few words; "" where nothing was asked."""
        if self.vanishing:
            return f"gone {', '.join(self.vanishing)}"
        return "there in every way asked" if WRONG in self.ways.values() else ""

    @property
    def sentences(self) -> list[str]:
        """All of it, for people: what makes it vanish, what does not, what could not be asked."""
        told: list[str] = []
        for came_to, words in _WORDS.items():
            names = [name for name, vote in self.ways.items() if vote == came_to]
            if names:
                told.append(f"{words} {'; '.join(names)}.")
        return [*told, f"{self.note[:1].upper()}{self.note[1:]}."] if self.note else told


_WORDS = {
    RIGHT: "The divergence vanishes",
    WRONG: "It stays",
    NO_ANSWER: "There is no answer",
}

AGAINST_BACKEND = "reference and interpreter against the backend"
AGAINST_REFERENCE = "the reference alone: look at the reference first"
ALL_DIFFER = "no two of reference, interpreter and backend agree"
NO_VOTE = "the interpreter has no vote"


@dataclass(frozen=True, slots=True)
class Vote:
    """How StableHLO's interpreter votes on a finding; `why` says it of one that does not."""

    words: str = ""
    why: str = ""

    @property
    def line(self) -> str:
        """The vote in a line; "" where none was asked for."""
        return f"{self.words} ({self.why})" if self.why else self.words

"""How far a campaign is, in numbers and in a line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic

from conformance.campaign.fuzzing.trials import Tried


@dataclass(slots=True)
class FuzzTally:
    """What a campaign has done: of its budget in seconds and programs (0: no limit).

    `seconds` are those spent; `counts` the programs by what they came to, `pairs` the pairs of ops
    met, `new` and `known` the findings.
    """

    budget: float
    programs: int
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    pairs: int = 0
    new: int = 0
    known: int = 0
    here: int = 0
    modules: int = 0
    begun: float = field(default_factory=monotonic)

    def add(self, tried: Tried, met: int) -> None:
        """Count what a trial came to; `met` pairs of ops were met for the first time."""
        self.counts.update(tried.counts)
        self.here += sum(tried.counts.values())
        self.modules += tried.modules
        self.pairs += met

    @property
    def done(self) -> float:
        """How far it is, of `total`."""
        if self.programs and not self.budget:
            return self.counts.total()
        return self.seconds

    @property
    def total(self) -> float:
        """The budget: in seconds, or in programs where it has none."""
        return self.budget or self.programs

    def line(self) -> str:
        """The tally in one line."""
        elapsed = max(monotonic() - self.begun, 1e-3)
        return (
            f"{self.counts.total()} programs, {self.here / elapsed:,.0f}/s, "
            f"{self.modules / elapsed:,.1f} modules/s, {self.pairs} pairs of ops, "
            f"{self.new} findings, {self.known} known"
        )

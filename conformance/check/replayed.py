"""What became of a counterexample that was replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.check.settings import INVALID
from conformance.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a counterexample: the verdict, its class, and what was seen.

    `reproduces` says whether it is what the expectation speaks of.
    """

    SHOWN: ClassVar[str] = "reproduces"
    FIXED: ClassVar[str] = "fixed"
    OTHERWISE: ClassVar[str] = "does not reproduce"

    id: str
    reproduces: bool
    verdict: Verdict
    kind: str = ""
    message: str = ""

    @property
    def state(self) -> str:
        """Whether it reproduces, is fixed (it passes now), or comes to something else."""
        if self.reproduces:
            return self.SHOWN
        passes = self.verdict in (Verdict.PASS, Verdict.UNSPECIFIED)
        passes |= (self.verdict, self.kind) == (Verdict.REJECTED, INVALID)
        return self.FIXED if passes else self.OTHERWISE

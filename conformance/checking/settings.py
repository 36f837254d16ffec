"""Settings and outcomes of checks, which are sent between processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from conformance.gate.expectations import Expectation
from conformance.limits import FILE_LIMITS, Limits
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict

INVALID = "invalid program"
"""The class of a file without a program, or with a program that breaks constraints."""

UNJUDGED = "operations were not judged individually"
"""First words of the note on a passing program that was not fully judged; the reason follows."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a check for all files of a call.

    `save` is the folder for programs that fail. With `explains`, a message says what the program
    may give at its worst element.
    """

    backend: str = "cpu"
    inputs: Path | None = None
    seed: int = 0
    expectations: tuple[Expectation, ...] = ()
    limits: Limits = FILE_LIMITS
    save: Path | None = None
    explains: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that one call checks; the first has the number `start`."""

    start: int
    files: tuple[str, ...]
    settings: Settings

    def singles(self) -> Iterator[Batch]:
        """Yield a batch for each file."""
        for index, file in enumerate(self.files):
            yield Batch(self.start + index, (file,), self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile(Outcome):
    """The outcome of a file: its worst program's outcome.

    `notes` are on operations that exceed their own budget, if programs pass nevertheless. It
    `is_settled` if only notes are missing.
    """

    file: str
    notes: tuple[str, ...] = ()
    is_settled: bool = False

    @property
    def is_invalid(self) -> bool:
        """Whether the file holds no valid program, which is the user's mistake."""
        return self.verdict is Verdict.REJECTED and self.kind == INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCounterexample(Outcome):
    """The outcome of a counterexample. `reproduces` says whether its expectation matches it."""

    SHOWN: ClassVar[str] = "reproduces"
    FIXED: ClassVar[str] = "fixed"
    OTHERWISE: ClassVar[str] = "does not reproduce"

    id: str
    reproduces: bool

    @property
    def state(self) -> str:
        """The state: it reproduces, is fixed (passes now), or has another outcome."""
        if self.reproduces:
            return self.SHOWN
        passes = self.verdict in (Verdict.PASS, Verdict.UNSPECIFIED)
        passes |= (self.verdict, self.kind) == (Verdict.REJECTED, INVALID)
        return self.FIXED if passes else self.OTHERWISE

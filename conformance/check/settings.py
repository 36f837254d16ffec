"""What a check is asked, and what it answers: of many files alike, and between processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from conformance.gate.expectations import Expectation
from conformance.limits import FILE_LIMITS, Limits
from conformance.verdict import Element, Verdict

INVALID = "invalid program"
"""The class of a file that holds no program, or one that breaks constraints."""

UNJUDGED = "operations were not judged one by one"
"""What a note on a program that passes says before the reason."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all files of a call are checked with.

    `save` is the folder for programs that fail.
    """

    backend: str = "cpu"
    inputs: Path | None = None
    seed: int = 0
    expectations: tuple[Expectation, ...] = ()
    limits: Limits = FILE_LIMITS
    save: Path | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to be checked in one call, from the one numbered `start`."""

    start: int
    files: tuple[str, ...]
    settings: Settings

    def singles(self) -> Iterator[Batch]:
        """Yield the same files, each a batch of its own."""
        for number, file in enumerate(self.files):
            yield Batch(self.start + number, (file,), self.settings)


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one file.

    `verdict` is the worst of its programs', `kind` its class ("" when passed), `operation` the
    first that goes wrong, where it can be told; `elements` are the first few that differ. `known`
    are the ids of the expectations that know all of it. `notes` are on operations that are off by
    more than their own budget, where programs pass nevertheless. It `is_settled` where only notes
    are missing.
    """

    file: str
    verdict: Verdict
    kind: str = ""
    operation: str = ""
    message: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_settled: bool = False

    @property
    def fails(self) -> bool:
        """Whether this makes the check fail: known divergences do not."""
        return self.verdict.fails and not self.known

    @property
    def is_invalid(self) -> bool:
        """Whether this is no program at all, or not a valid one: a mistake of the user's."""
        return self.verdict is Verdict.REJECTED and self.kind == INVALID


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

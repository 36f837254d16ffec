"""Trials and their outcomes, which are sent between processes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.backends.registry import BACKENDS, parse
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.gate.expectations import Expectation
from conformance.pipeline.items import Inputs
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from generators.chains.guide import CoverageCounts, Guide
from generators.chains.seeds.fragment import Fragment
from reference.ir.program import Program

ONLY_IN_BATCH = "only together"
"""The word under which a campaign counts programs that fail in a batch and not in isolation."""

DEFECT = "defect of hlo-conformance"
"""The word under which a campaign counts programs that raise an exception of ours."""

NOT_TESTED = (Verdict.UNSUPPORTED.value, Verdict.NOT_JUDGED.value, DEFECT)
"""The words under which a campaign counts programs that do not test the backend."""

KNOWN_TO_CRASH = "known to crash"
"""The word under which a campaign counts programs that are not run, because an expectation says
that they crash.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """The programs of a campaign from number `start` to before `stop`.

    `ops` are the ops of the campaign, none for all; `seconds` is the limit of an evaluation by the
    reference, `seeds` is the file of the fragments that some programs are made of, None for no
    fragments. `met` are the campaign's coverage counts some trials earlier: choices with high
    counts are drawn less often; with None, nothing is steered. `varied` are earlier programs of the
    campaign, which some programs of the trial vary.
    """

    backend: str
    seed: int
    start: int
    stop: int
    ops: frozenset[str] = frozenset()
    expectations: tuple[Expectation, ...] = field(default=(), repr=False)
    seconds: float = 5.0
    seeds: Path | None = None
    met: CoverageCounts | None = field(default=None, repr=False, compare=False)
    varied: tuple[Fragment, ...] = field(default=(), repr=False, compare=False)

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def guide(self) -> Guide:
        """Return the guide of the choices of a program."""
        return Guide(self.met, quantized=BACKENDS[parse(self.backend).family].quantized)

    def singles(self) -> list[Trial]:
        """Return a trial for each of the programs."""
        return [replace(self, start=n, stop=n + 1) for n in range(self.start, self.stop)]


@dataclass(frozen=True, slots=True)
class FailingProgram:
    """A program that fails on some inputs: its number, and its outcome."""

    number: int
    program: Program
    inputs: Inputs
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The outcome of a trial: programs by verdict, failures, coverage, modules, peak memory.

    `new` are fragments that covered a new pair of ops.
    """

    counts: dict[str, int]
    failures: tuple[FailingProgram, ...]
    met: CampaignCoverage
    modules: int
    peak_rss_mb: float
    new: tuple[Fragment, ...] = ()

"""Steering of a campaign: later trials draw rarely covered choices more often, and vary programs
that failed or covered something new.

A trial is steered by the coverage of earlier trials. The earlier trials are selected by number, not
by the time at which they ended, so that a seed determines a campaign with a single worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from conformance.fuzzing.steering.coverage_counts import CampaignCoverage, Choice
from conformance.fuzzing.steering.pool import Pool
from conformance.fuzzing.trial import Trial, TrialResult
from generators.chains.guide import COLUMN, ENOUGH, TYPE, CoverageCounts
from generators.chains.seeds.fragment import Fragment
from generators.chains.strategy import STEPS
from reference.ir.program import Program
from reference.ir.types import ALL

LAG = 4
"""Number of trials per worker that may be unfinished when a trial begins."""

WANTED = 6
"""Number of values of choices of an op that are favoured at a time, the least covered first."""

SELDOM = 3
"""Coverage count from which on a value is no longer favoured."""

_TYPES = {str(of): TYPE[of] for of in ALL}


class Steering:
    """The coverage so far, by which trials are steered."""

    def __init__(
        self,
        met: CampaignCoverage,
        jobs: int,
        per_trial: int,
        seed: int = 0,
        varied: Sequence[Fragment] = (),
    ) -> None:
        """Begin with the coverage of earlier sessions, and programs that can be varied."""
        self._lag = LAG * jobs * per_trial
        self._pairs: dict[str, bytearray] = {}
        self._steps: dict[str, bytearray] = {}
        self._choices: dict[str, Counter[Choice]] = {}
        self._wanted: dict[str, tuple[tuple[str, str], ...]] = {}
        self._left = [len(STEPS[of]) for of in ALL]
        self._waiting: list[tuple[int, int, TrialResult, dict[str, Program]]] = []
        self._pool, self._seed = Pool(), seed
        self._pool.add_new(varied)
        self._order = 0
        self._take(met)

    def add(self, start: int, tried: TrialResult, failing: dict[str, Program]) -> None:
        """Add the outcome of the trial that begins with this program; `failing` are programs that
        failed, by place.
        """
        self._order += 1
        heappush(self._waiting, (start, self._order, tried, failing))

    def steer(self, trial: Trial) -> Trial:
        """Return the trial with the coverage so far, and with fragments to vary."""
        while self._waiting and self._waiting[0][0] <= trial.start - self._lag:
            *_, tried, failing = heappop(self._waiting)
            self._take(tried.met)
            self._pool.add_new(tried.new)
            for place, program in failing.items():
                self._pool.add_failing(place, program)
        met = CoverageCounts(
            _to_bytes(self._pairs), _to_bytes(self._steps), self._wanted, tuple(self._left)
        )
        varied = self._pool.draw(self._seed << 32 | trial.start)
        return replace(trial, met=met, varied=varied)

    def _take(self, met: CampaignCoverage) -> None:
        for (maker, op), count in met.pairs.items():
            if op in COLUMN:
                _raise(self._pairs, maker, len(COLUMN), COLUMN[op], count)
        for (name, of), count in met.steps.items():
            column = _TYPES[of]
            if _raise(self._steps, name, len(ALL), column, count):
                self._left[column] = max(1, self._left[column] - 1)
        for choice, count in met.choices.items():
            self._choices.setdefault(choice[0], Counter())[choice] += count
        wanted = {op: self._seldom(op) for op in {choice[0] for choice in met.choices}}
        self._wanted = {op: few for op, few in (self._wanted | wanted).items() if few}

    def _seldom(self, op: str) -> tuple[tuple[str, str], ...]:
        """Return the values of choices that cases of an op have covered least."""
        counts: Iterable[tuple[Choice, int]] = self._choices[op].items()
        few = sorted((count, choice) for choice, count in counts if count < SELDOM)
        return tuple((dimension, label) for _, (_, dimension, label) in few[:WANTED])


def _raise(rows: dict[str, bytearray], name: str, width: int, column: int, by: int) -> bool:
    """Increase a count up to the maximum of its type; return whether it was 0."""
    row = rows.setdefault(name, bytearray(width))
    before = row[column]
    row[column] = min(ENOUGH, before + by)
    return not before


def _to_bytes(rows: dict[str, bytearray]) -> dict[str, bytes]:
    return {name: bytes(row) for name, row in rows.items()}

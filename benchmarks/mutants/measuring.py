"""The share of mutants of an op that the op's own cells detect, and the survivors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from typing import Any

from benchmarks.mutants.reach import own_records
from benchmarks.mutants.swapping import Impossible, LoadedFunctions, Mutant, sources
from benchmarks.mutants.trials import Trial, TrialOutcome, run_trials, trials_of

POOL = "deep"
"""The profile whose cases, under another seed, decide whether a mutant is equivalent."""

EVERY = 1 << 30

TRIES = 4
"""Largest number of mutants that are tried per mutant that changes results without errors."""

OTHERS = "others"
"""Name of the pseudo-profile for the cells of all other ops."""


class Part(Enum):
    """The part of the reference that a mutant changes, by how the op's cases reach it."""

    EVALUATION = "evaluation"
    CONSTRAINTS = "constraints"
    """The functions that only the check of constraints reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a measurement.

    `per_op` mutants of each part change results; `seed` selects them as it does cases. `columns`
    are patterns of columns, empty for all. The cells of `profiles` should detect the mutants.
    `pool` cases of each cell decide which are wrong.
    """

    per_op: int = 12
    seed: int = 0
    columns: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ("smoke", "standard")
    pool: int = 24
    parts: tuple[Part, ...] = (Part.EVALUATION, Part.CONSTRAINTS)


class Fate(Enum):
    """The fate of a mutant, as far as the pool of cases shows."""

    UNREACHED = "nothing reaches the statement"
    BROKEN = "ends the first case that reaches it in an error, in the first profile"
    EQUAL = "gives the same results everywhere"
    PERMITTED = "gives other results, all permitted by the op's rule"
    WRONG = "gives a result that is not permitted, or none, somewhere"


@dataclass(frozen=True, slots=True)
class MeasuredMutant:
    """One mutant of one op: its fate, the profiles that detect it, and an input that shows it.

    `caught` also has `OTHERS` if another op's cells detect a mutant that its own do not.
    """

    op: str
    part: Part
    mutant: str
    function: str
    kind: str
    told: str
    fate: Fate
    caught: tuple[str, ...]
    why: str
    shown_by: str


@dataclass(frozen=True, slots=True)
class OpResult:
    """The mutants of an op; `functions` are all that it reaches and may share with others."""

    op: str
    mutants: tuple[MeasuredMutant, ...] = ()
    functions: frozenset[str] = field(default_factory=frozenset)


def name_of_function(mutant: Mutant) -> str:
    """Return the innermost function that a mutant changes, by file and line."""
    return f"{mutant.source.name}:{mutant.change.functions[-1].lineno}"


@cache
def mutants_by_function() -> dict[str, tuple[frozenset[tuple[str, int]], list[Mutant]]]:
    """Return the body lines of each function, and all its mutants."""
    table: dict[str, tuple[frozenset[tuple[str, int]], list[Mutant]]] = {}
    for source in sources():
        for index, change in enumerate(source.changes):
            mutant = Mutant(source, index)
            body: Any = change.functions[-1].body
            first, last = (body[0], body[-1]) if isinstance(body, list) else (body, body)
            lines = ((source.name, line) for line in range(first.lineno, last.end_lineno + 1))
            entry = table.setdefault(name_of_function(mutant), (frozenset(lines), []))
            entry[1].append(mutant)
    return table


def reached_by(trials: Sequence[Trial], part: Part | None = None) -> dict[str, list[Mutant]]:
    """Return the functions that some trial reaches for the op, with their mutants.

    Without `part`, the mutants of both parts.
    """
    evaluated, checked = set[tuple[str, int]](), set[tuple[str, int]]()
    for trial in trials:
        evaluated |= trial.evaluated.own | trial.evaluated.between
        checked |= trial.checked.own
    wanted = {Part.EVALUATION: evaluated, Part.CONSTRAINTS: checked, None: evaluated | checked}
    other = evaluated if part is Part.CONSTRAINTS else set[tuple[str, int]]()
    return {
        name: mutants
        for name, (lines, mutants) in mutants_by_function().items()
        if lines & wanted[part] and not lines & other
    }


@dataclass(frozen=True, slots=True)
class Cases:
    """The trials of an op's mutants: of each profile, and of the pool."""

    op: str
    by_profile: dict[str, list[Trial]]
    pool: list[Trial]
    living: LoadedFunctions

    @classmethod
    def of(cls, op: str, settings: Settings) -> Cases:
        """Return the trials of an op by the settings."""
        by_profile = {
            profile: trials_of(op, settings.columns, profile, settings.seed, EVERY)
            for profile in settings.profiles
        }
        pool = trials_of(op, settings.columns, POOL, settings.seed + 1, settings.pool)
        return cls(op, by_profile, pool, LoadedFunctions.now())

    @property
    def every(self) -> list[Trial]:
        """The trials of all profiles and of the pool."""
        return [*(trial for trials in self.by_profile.values() for trial in trials), *self.pool]


def measure(op: str, settings: Settings) -> OpResult:
    """Try a sample of the mutants of the code that an op reaches, on the op's own cells."""
    cases, measured = Cases.of(op, settings), list[MeasuredMutant]()
    for part in settings.parts:
        reached = reached_by(cases.every, part)
        mutants = [mutant for of_function in reached.values() for mutant in of_function]
        left = settings.per_op
        for mutant in sample_mutants(op, mutants, settings.seed)[: settings.per_op * TRIES]:
            try:
                one = verdict_on(cases, part, mutant)
            except Impossible:
                continue
            measured.append(one)
            left -= one.fate in (Fate.WRONG, Fate.PERMITTED)
            if not left:
                break
    return OpResult(op, tuple(measured), frozenset(reached_by(cases.every)))


ELSEWHERE = 8
"""Factor by which mutants outside an op's own files are less likely."""


def sample_mutants(op: str, mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Return the mutants in random order, those in the op's own files more likely first."""
    own = _own_files(op)

    def rank(mutant: Mutant) -> float:
        digest = hashlib.sha256(f"{seed} {op} {mutant.id}".encode()).digest()
        uniform = (int.from_bytes(digest[:8], "big") + 1) / 2**64
        return -math.log(uniform) * (1 if mutant.source.name in own else ELSEWHERE)

    return sorted(mutants, key=rank)


def _own_files(op: str) -> set[str]:
    """Return the files in which an op is checked, evaluated or lowered."""
    functions: list[Any] = []
    for record in own_records(op):
        both = (record.evaluate, record.type_function)
        functions += both if record.lower is None else (record.lower,)
    return set(map(_file_of, functions))


def _file_of(function: Any) -> str:
    plain = function.func if isinstance(function, partial) else function
    return f"{plain.__module__.replace('.', '/')}.py"


def verdict_on(cases: Cases, part: Part, mutant: Mutant) -> MeasuredMutant:
    """Try a mutant on each profile, and on the pool if no profile catches it.

    Raises:
        Impossible: when the mutant cannot take the place of the reference.
    """
    caught: list[str] = []
    outcomes: list[TrialOutcome] = []
    passed: set[tuple[str, int, str]] = set()
    for profile, trials in cases.by_profile.items():
        keys = {_identity(trial) for trial in trials}
        if any(outcome.failed and _identity(outcome.failed) in keys for outcome in outcomes):
            caught.append(profile)  # by the same case
            continue
        left = [trial for trial in trials if _identity(trial) not in passed]
        outcomes.append(run_trials(cases.living, mutant, left))
        if outcomes[-1].failed is None:
            passed |= keys
        else:
            caught.append(profile)
    if not caught:
        outcomes.append(run_trials(cases.living, mutant, cases.pool))
    failed = next((outcome for outcome in outcomes if outcome.failed), TrialOutcome())
    permitted = (outcome.permitted for outcome in outcomes if outcome.permitted)
    shown = failed.failed or next(permitted, None)
    return MeasuredMutant(
        cases.op, part, mutant.id, name_of_function(mutant), mutant.change.kind, mutant.told(),
        _fate(cases, mutant, outcomes), tuple(caught), failed.why, shown.told() if shown else "",
    )  # fmt: skip


def _fate(cases: Cases, mutant: Mutant, outcomes: Sequence[TrialOutcome]) -> Fate:
    """Return the fate of a mutant, given the outcomes of its trials."""
    if outcomes[0].at_once:
        return Fate.BROKEN
    if any(outcome.failed for outcome in outcomes):
        return Fate.WRONG
    if any(outcome.permitted for outcome in outcomes):
        return Fate.PERMITTED
    lines = frozenset(mutant.lines)
    reached = any(trial.reaches(lines) for trial in cases.every)
    return Fate.EQUAL if reached else Fate.UNREACHED


def _identity(trial: Trial) -> tuple[str, int, str]:
    return trial.cell.element_type.name, trial.index, trial.program.digest


def caught_by_other(op: str, mutants: Sequence[str], settings: Settings) -> set[str]:
    """Return the mutants (by id) that the cells of this op detect in the last profile."""
    trials = trials_of(op, settings.columns, settings.profiles[-1], settings.seed, EVERY)
    named = {m.id: m for _, of_function in mutants_by_function().values() for m in of_function}
    living = LoadedFunctions.now()
    return {id_ for id_ in mutants if run_trials(living, named[id_], trials).failed is not None}

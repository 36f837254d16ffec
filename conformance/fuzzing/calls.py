"""What workers are called for: they load what needs jaxlib, which the parent does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from conformance.backends.passes import Passes
from conformance.fuzzing.attribution.cause import Vote
from conformance.fuzzing.attribution.ways import Plan, Way
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Hit, Inputs, Trial, Tried
from conformance.pipeline.outcome import Outcome
from reference.ir.program import Program

if TYPE_CHECKING:  # loads the reader of programs, which the parent need not wait for
    from conformance.fuzzing.seeds.files import Cut


@dataclass(frozen=True, slots=True)
class Timed:
    """What a call came to, and the seconds that a worker spent on it."""

    value: object
    seconds: float


def timed(function: Callable[..., object], *given: object) -> Timed:
    """In a worker: what a call comes to, and how long it takes."""
    begun = monotonic()
    value = function(*given)
    return Timed(value, monotonic() - begun)


def run_trial(trial: Trial) -> Tried:
    """In a worker: what a trial comes to.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing import execution as work

    return work.run_trial(trial)


def reduced(trial: Trial, hit: Hit, seconds: float) -> Finding:
    """In a worker: the finding that a hit comes to, minimised for so many seconds.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing import minimisation as work

    return work.reduced(trial, hit, seconds)


def as_it_is(trial: Trial, hit: Hit) -> Finding:
    """In a worker: the finding that a hit comes to as it is.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing import minimisation as work

    return work.as_it_is(trial, hit)


def explained(trial: Trial, finding: Finding, seconds: float) -> Finding:
    """In a worker: the finding with what causes it, and the third vote.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing.attribution import asking

    return asking.explained(trial, finding, seconds)


def cut(files: Sequence[Path]) -> Cut:
    """In a worker, which a file may end: the pieces of all programs in these files."""
    from conformance.fuzzing.seeds import files as work

    return work.cut(files)


def plan(trial: Trial, finding: Finding) -> Plan:
    """In a worker, which this may end: what may be asked about a finding's cause.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing.attribution import asking

    return asking.plan(trial, finding)


def asked(trial: Trial, finding: Finding, way: Way) -> str:
    """In a worker, which this may end: what a finding's program comes to in another way.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.fuzzing.attribution import asking

    return asking.asked(trial, finding, way)


def rewritings(finding: Finding) -> list[Way]:
    """In a worker: the ways in which a finding's program can be written otherwise."""
    from conformance.fuzzing.attribution import ways

    return ways.rewritings(finding.program, finding.inputs)


def readable(program: Program) -> str:
    """In a worker: a program's text as people read it; "" where it cannot be written."""
    from conformance.fuzzing import minimisation

    return minimisation.readable(program)


def vote(trial: Trial, finding: Finding) -> Vote:
    """In a worker, which this may end: how StableHLO's interpreter votes on a finding."""
    from conformance.fuzzing.attribution import third

    return third.vote(trial, finding)


def watched(trial: Trial, finding: Finding, seconds: float) -> tuple[tuple[str, ...], Passes]:
    """In a worker: the passes that a program's process ended in, and those before.

    The program is run in another process, for at most so many seconds.
    """
    from conformance.fuzzing.attribution import watched as work

    return work.watched(trial, finding, seconds)


def gives_answer(trial: Trial, program: Program, inputs: Inputs) -> bool:
    """In a worker, which this may end: whether a program gives an answer."""
    from conformance.backends.session import open_session
    from conformance.fuzzing.execution import judged_alone
    from conformance.phases import phase

    return judged_alone(trial, open_session(trial.backend, phase), program, inputs) is not None


def came_to(trial: Trial, file: Path, inputs: Path | None) -> Outcome:
    """In a worker, which this may end: what the program of a file comes to.

    Raises:
        NotAvailable: when the backend cannot be had.
        UsageError: when the file holds no program that can be tried.
    """
    from conformance.fuzzing import user_programs

    return user_programs.came_to(trial, file, inputs)


def failing(trial: Trial, file: Path, inputs: Path | None) -> Hit | None:
    """In a worker: the program of a file on inputs that it fails on; None where there are none.

    Raises:
        NotAvailable: when the backend cannot be had.
        UsageError: when the file holds no program that can be tried.
    """
    from conformance.fuzzing import user_programs

    return user_programs.failing(trial, file, inputs)

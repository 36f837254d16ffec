"""Replay of one counterexample in a worker: its program is checked like a user's program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from conformance.backends.base import BackendError, Rejected, Unsupported, failure_of
from conformance.backends.session import open_session
from conformance.catalog import column_of
from conformance.checking.program import NotJudged, ProgramChecker
from conformance.checking.settings import INVALID as UNREADABLE
from conformance.checking.settings import ReplayedCounterexample
from conformance.errors import UsageError
from conformance.executors.limit import TooSlow
from conformance.frontends.modules import NotChecked, Unit, units_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation, Failure
from conformance.limits import LIMITS
from conformance.phases import phase
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from generators.case.columns import INVALID
from reference.ir.types import Array

ATTEMPTS = 8
"""Number of compilations and runs of a program that depends on memory or on a race, as its entry
says.
"""


def replay(expectation: Expectation, name: str) -> ReplayedCounterexample:
    """Replay a counterexample on the backend of that name, in this process.

    Raises:
        UsageError: when it cannot be read.
        NotAvailable: when the backend is not available.
    """
    given, unit = expectation.counterexample, _unit_of(expectation)
    assert given is not None
    if isinstance(unit, NotChecked):
        return _refused_program(expectation, unit)
    try:
        inputs = parse_inputs(unit.flat.program, given.inputs)
    except ValueError as error:
        raise _unreadable_error(expectation, error) from None
    attempts = ATTEMPTS if expectation.unpredictable or expectation.flaky else 1
    for _ in range(attempts - 1):
        if (seen := _try_program(expectation, unit, inputs, name)).reproduces:
            return seen
    return _try_program(expectation, unit, inputs, name)


def match_crash(
    expectation: Expectation, backend: str, verdict: Verdict, kind: str, message: str
) -> tuple[ReplayedCounterexample, ...]:
    """Match an expectation with its program, whose worker crashed or timed out."""
    reproduces = is_crash_matched(expectation, backend, Outcome(verdict, kind, message))
    return (
        ReplayedCounterexample(verdict, kind, message, id=expectation.id, reproduces=reproduces),
    )


def replay_batch(batch: Sequence[Expectation], backend: str) -> tuple[ReplayedCounterexample, ...]:
    """Replay these counterexamples, one after the other."""
    return tuple(replay(expectation, backend) for expectation in batch)


def is_crash_matched(expectation: Expectation, name: str, outcome: Outcome) -> bool:
    """Return whether an expectation matches its program, whose worker crashed or timed out with
    this outcome.

    Raises:
        NotAvailable: when the backend is not available.
    """
    said = (outcome.verdict, outcome.kind, outcome.message)
    try:
        unit, backend = _unit_of(expectation), open_session(name).name
    except UsageError:  # the worker ended when it read the program; here, it is refused
        return expectation.matches_except_op(*said)
    if isinstance(unit, NotChecked):
        return expectation.matches_except_op(*said)
    return any(
        expectation.matches(Failure(operation.name, cell, backend, *said, operation=operation))
        for program in unit.programs
        for operation in program.walk()
        for cell in (column_of(operation), INVALID.name)
    )


def _unit_of(expectation: Expectation) -> Unit | NotChecked:
    """Return the program of a counterexample.

    Raises:
        UsageError: when it cannot be read.
    """
    given = expectation.counterexample
    assert given is not None
    try:
        (unit,) = units_of(given.program)
    except ValueError as error:
        raise _unreadable_error(expectation, error) from None
    return unit


def _try_program(
    expectation: Expectation, unit: Unit, inputs: tuple[Array, ...], name: str
) -> ReplayedCounterexample:
    """Return the outcome of the program after recompiling it."""
    work = ProgramChecker(unit, open_session(name, phase), (expectation,), LIMITS.item)
    try:
        outcome = work.judge_inputs(inputs)
    except (NotJudged, TooSlow) as reason:
        unjudged = reason if isinstance(reason, NotJudged) else NotJudged(str(reason))
        return ReplayedCounterexample.of(unjudged.outcome, id=expectation.id, reproduces=False)
    if work.refusal is not None and not isinstance(work.refusal, Rejected):
        return _failed_refusal(expectation, work.refusal)
    extended = (
        _extension_constraint(outcome) if expectation.verdicts == (Verdict.ACCEPTED.value,) else ""
    )
    if extended:
        accepted = (Verdict.ACCEPTED, extended, outcome.message)
        reproduces = expectation.matches_except_op(*accepted)
        return ReplayedCounterexample(*accepted, id=expectation.id, reproduces=reproduces)
    reproduces = expectation.id in outcome.known
    return ReplayedCounterexample.of(outcome, id=expectation.id, reproduces=reproduces)


def _failed_refusal(expectation: Expectation, error: BackendError) -> ReplayedCounterexample:
    """Return the outcome of an invalid program that the backend fails on, or does not support.

    Neither says what is wrong with the program, as a refusal does.
    """
    if isinstance(error, Unsupported):
        unjudged = NotJudged.by_backend(error).outcome
        return ReplayedCounterexample.of(unjudged, id=expectation.id, reproduces=False)
    failed = (*failure_of(error), str(error))
    reproduces = expectation.matches_except_op(*failed)
    return ReplayedCounterexample(*failed, id=expectation.id, reproduces=reproduces)


def _extension_constraint(outcome: Outcome) -> str:
    """Return the constraint that a program breaks by an extension which the backend takes.

    For a user's program that is a note; for a near miss of a run, acceptance is an error.
    """
    broken = re.match(r"breaks (\w+) of ", outcome.message)
    return broken[1] if broken and outcome.verdict is Verdict.PASS else ""


def _refused_program(expectation: Expectation, refused: NotChecked) -> ReplayedCounterexample:
    """Return the outcome of a program that MLIR's verifier refuses: a known refusal, or an error.

    Raises:
        UsageError: unless the expectation matches only refused programs, or a flaky one says that
            the program mostly ends the process that reads it.
    """
    verdict, kind = Verdict.REJECTED, "refused as invalid"
    if refused.invalid and expectation.flaky:
        said = verdict, UNREADABLE, refused.reason
        return ReplayedCounterexample(*said, id=expectation.id, reproduces=False)
    if not (refused.invalid and expectation.verdicts == (verdict.value,)):
        raise _unreadable_error(expectation, refused.reason)
    reproduces = expectation.matches_except_op(verdict, kind, refused.reason)
    return ReplayedCounterexample(
        verdict, kind, refused.reason, id=expectation.id, reproduces=reproduces
    )


def _unreadable_error(expectation: Expectation, reason: object) -> UsageError:
    return UsageError(f"the counterexample of expectation {expectation.id!r}: {reason}")

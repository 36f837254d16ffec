"""Counterexamples of expectations, replayed: which known divergences this backend still shows.

Each is checked as a program of the user's is, with its own expectation alone: it reproduces when
that expectation knows what goes wrong. They are replayed in workers, many to a call; those that end
their process, each in a call of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import cast

from conformance.check.outcome import Outcome
from conformance.check.replayed import SECONDS, Replayed
from conformance.errors import NotAvailable
from conformance.executors.executor import Executor
from conformance.executors.local import Call, Died, Ended, TimedOut
from conformance.executors.lost import why
from conformance.gate.expectations import Expectation
from conformance.verdict import Verdict

ROUNDS = 4
"""How many workers try what depends on memory or on a race, at most: where an entry says so, and
where a process ends without a word."""

BATCH = 16
"""Counterexamples that are replayed in one call to a worker."""


def replayed(
    executor: Executor, expectations: Sequence[Expectation], backend: str, jobs: int = 1
) -> Generator[Replayed | None]:
    """Replay the counterexamples of those expectations that have one, in the order of ending.

    `backend` is what it was asked for with (see Choice.spelling).

    Yields None now and then, while nothing ends.

    Raises:
        UsageError: when a counterexample cannot be read.
        NotAvailable: when the backend cannot be had, or no worker can be started.
    """
    having = [e for e in expectations if e.counterexample is not None]
    unsteady = {e.id: e for e in having if is_unsteady(e)}
    for number in reversed(range(ROUNDS)):
        again: list[Expectation] = []
        for one in _replayed_once(executor, having, backend, jobs):
            if number and one is not None and not one.reproduces and one.id in unsteady:
                again.append(unsteady[one.id])
            else:
                yield one
        if not again:
            return
        having = again
        executor.rest()  # what memory holds may stay as it is as long as a process lives


def is_unsteady(expectation: Expectation) -> bool:
    """Whether what the counterexample shows may depend on memory or on a race."""
    return bool(expectation.where) or expectation.unpredictable or expectation.flaky


def _replayed_once(
    executor: Executor, having: Sequence[Expectation], backend: str, jobs: int
) -> Generator[Replayed | None]:
    apart = [e for e in having if Verdict.CRASHED.value in e.verdicts]
    together = [e for e in having if e not in apart]
    size = max(1, min(BATCH, -(-len(together) // jobs)))
    batches = [tuple(together[at : at + size]) for at in range(0, len(together), size)]
    batches += [(expectation,) for expectation in apart]
    for ended in executor.results([_call(batch, backend) for batch in batches]):
        if ended is None:
            yield None
        else:
            yield from _answers(executor, ended, backend)


def _call(batch: tuple[Expectation, ...], backend: str) -> Call:
    return Call(batch, replay_batch, (batch, backend), SECONDS)


def _answers(executor: Executor, ended: Ended, backend: str) -> tuple[Replayed, ...]:
    """What a call came to; nothing yet where it must be done again, one by one."""
    batch: tuple[Expectation, ...] = ended.call.name
    value: object = ended.value
    if isinstance(value, tuple):
        return cast("tuple[Replayed, ...]", value)
    if not isinstance(value, (Died, TimedOut)):
        raise value if isinstance(value, Exception) else NotAvailable(str(value))
    if len(batch) != 1:
        for expectation in batch:
            executor.push(_call((expectation,), backend))
        return ()
    (expectation,), (verdict, kind, message) = batch, why(value)
    if ended.call.function is replay_lost:  # it is lost again by being read
        _, _, verdict, kind, message = ended.call.arguments
        reproduces = expectation.names(verdict, kind, message)
        return (Replayed(expectation.id, reproduces, verdict, kind, message),)
    executor.push(Call(batch, replay_lost, (expectation, backend, verdict, kind, message), SECONDS))
    return ()


def replay_lost(
    expectation: Expectation, backend: str, verdict: Verdict, kind: str, message: str
) -> tuple[Replayed, ...]:
    """In a worker: see whether an expectation knows its program, which a worker was lost over."""
    from conformance.check.counterexample import knows_lost

    reproduces = knows_lost(expectation, backend, Outcome(verdict, kind, message))
    return (Replayed(expectation.id, reproduces, verdict, kind, message),)


def replay_batch(batch: Sequence[Expectation], backend: str) -> tuple[Replayed, ...]:
    """In a worker: replay these counterexamples one after the other."""
    from conformance.check.counterexample import replay  # what the parent need not load

    return tuple(replay(expectation, backend) for expectation in batch)

"""Replay of the counterexamples of expectations: which known divergences a backend still shows.

Each counterexample is checked like a user's program, with its own expectation only: it reproduces
if that expectation matches the failure. Workers replay many counterexamples in one call; a
counterexample that crashes gets its own call.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from conformance.checking.calls import MATCH_CRASH, REPLAY_BATCH
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.executor import Executor
from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.expectations import Expectation
from conformance.limits import LIMITS
from conformance.pipeline.splitting import BatchCall, answers_of, run_in_parts
from conformance.verdict import Verdict

ROUNDS = 4
"""Largest number of workers that try a program that depends on memory or on a race, as its entry
says, or whose process ends without a message.
"""

BATCH = 16
"""Counterexamples that are replayed in one call to a worker."""


def replay_counterexamples(
    executor: Executor, expectations: Sequence[Expectation], backend: str, jobs: int = 1
) -> Generator[ReplayedCounterexample | None]:
    """Replay the counterexamples of expectations, in the order in which they end.

    `backend` is the name as given (see Choice.spelling). Yields None now and then, while no call
    ends.

    Raises:
        UsageError: if a counterexample cannot be read.
        NotAvailable: if the backend is not available, or no worker can be started.
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
        executor.end_workers()  # what memory holds may stay as it is as long as a process lives


def is_unsteady(expectation: Expectation) -> bool:
    """Return whether the outcome of the counterexample may depend on memory or on a race."""
    return bool(expectation.where) or expectation.unpredictable or expectation.flaky


def _replayed_once(
    executor: Executor, having: Sequence[Expectation], backend: str, jobs: int
) -> Generator[ReplayedCounterexample | None]:
    hanging = [e for e in having if e.expects_timeout]
    crashing = [e for e in having if Verdict.CRASHED.value in e.verdicts]
    alone = [e for e in having if e.unpredictable and e not in crashing]  # may write to the heap
    together = [e for e in having if e not in hanging and e not in crashing and e not in alone]
    size = max(1, min(BATCH, -(-len(together) // jobs)))
    batches = [(expectation,) for expectation in hanging]  # first: they take longest
    batches += [tuple(together[at : at + size]) for at in range(0, len(together), size)]
    batches += [(expectation,) for expectation in (*alone, *crashing)]
    for ended in run_in_parts(executor, [_call(batch, backend) for batch in batches]):
        if ended is None:
            yield None
        else:
            yield from _batch_outcomes(ended)


def _call(batch: tuple[Expectation, ...], backend: str) -> BatchCall:
    """Return the call that replays a batch of counterexamples.

    If its worker crashes or times out, each counterexample gets a call of its own. A counterexample
    that crashes its worker is read in another worker, to match its expectation.
    """
    seconds = LIMITS.item if all(one.expects_timeout for one in batch) else LIMITS.timeout
    return BatchCall(
        batch,
        REPLAY_BATCH,
        (batch, backend),
        seconds,
        ends_worker=any(one.unpredictable for one in batch),
        parts=lambda: [_call((one,), backend) for one in batch],
        question=lambda lost: Call(
            batch, MATCH_CRASH, (*batch, backend, *crash_verdict(lost)), seconds
        ),
    )


def _batch_outcomes(ended: CallEnd) -> tuple[ReplayedCounterexample, ...]:
    """Return the outcomes of a batch of counterexamples; raise the exception of its call."""

    def crash_outcomes(value: WorkerCrash | WorkerTimeout) -> tuple[ReplayedCounterexample, ...]:
        (expectation,), said = (
            ended.call.name,
            crash_verdict(value),
        )  # it ends the process that reads it, too
        return (
            ReplayedCounterexample(
                *said, id=expectation.id, reproduces=expectation.matches_except_op(*said)
            ),
        )

    return answers_of(ended, crash_outcomes)

"""Speed of campaigns, compared with XLA by itself: `python -m benchmarks.campaign_throughput`.

A worker runs each trial of a campaign as `fuzz` does: 16 programs are generated, evaluated,
compiled, run and judged. Right after it, the same modules are compiled and executed again on the
same inputs, and nothing else. There are as many workers as cores, as in a campaign; a single worker
would have the other cores for XLA's threads. Prints the programs per second of wall time of both,
and the ratio. Minimising and attributing findings are not part of a trial.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

from benchmarks.throughput import Recorder
from conformance.backends import session
from conformance.backends.base import BackendError
from conformance.executors.local import Call, LocalExecutor
from conformance.fuzzing.execution import run_trial
from conformance.fuzzing.singles import PER_TRIAL
from conformance.fuzzing.trial import Trial
from conformance.gate.reading import load
from conformance.results.versions import versions

AIM = 0.75
"""The target for the speed of a campaign, as a share of the speed of XLA by itself."""

Measured = tuple[int, int, float, float]
"""Programs, modules, seconds of a trial, and seconds of only its modules."""


def measure_trial(trial: Trial) -> Measured:
    """Run a trial, then compile and execute its modules once more."""
    inner = session.cached_backend(trial.backend)
    recorder = Recorder(inner)
    session.cached_backend, before = lambda _: recorder, session.cached_backend
    begun = perf_counter()
    try:
        tried = run_trial(trial)
    finally:
        session.cached_backend = before
    between = perf_counter()
    for text, program, calls in recorder.kept:
        with suppress(BackendError):
            executable = inner.compile(text, program)
            for inputs in calls:
                executable.execute(inputs)
    return len(trial), tried.modules, between - begun, perf_counter() - between


def report(done: Sequence[Measured], lost: int) -> tuple[str, float]:
    """Return the figures of all trials as text, and the ratio of both speeds."""
    programs, modules, ours, alone = (sum(column) for column in zip(*done, strict=True))
    ratio = alone / ours
    return (
        f"{programs} programs in {modules} modules; {lost} trials lost\n"
        f"campaign    {programs / ours:8.1f} programs/s of a worker\n"
        f"XLA alone   {programs / alone:8.1f} programs/s of a worker\n"
        f"ratio       {ratio:8.2f} ({AIM} is the aim)\n"
    ), ratio


def main() -> int:
    """Measure the trials and print the ratio; 1 where it is under the aim."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--trials", type=int, default=60, help="trials of 16 programs each")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--backend", default="cpu")
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    given = asked.parse_args()
    known = load(None, (given.backend,), versions())
    of = given.backend, given.seed
    starts = range(0, PER_TRIAL * given.trials, PER_TRIAL)
    trials = (Trial(*of, n, n + PER_TRIAL, expectations=known) for n in starts)
    done: list[Measured] = []
    with LocalExecutor(given.jobs) as executor:
        calls = (Call(trial, measure_trial, (trial,), 300.0) for trial in trials)
        for ended in executor.results(calls):
            if ended is not None and isinstance(ended.value, tuple):
                done.append(ended.value)
    done = done[given.jobs :]  # the first ones open the backend
    text, ratio = report(done, given.trials - given.jobs - len(done))
    sys.stdout.write(text)
    return 0 if ratio >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())

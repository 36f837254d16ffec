"""Speed of the harness, compared with a plain Hypothesis loop and with XLA by itself.

Three programs work through the same mix of ops in one run:

(a) this harness: `conformance.campaign.runner.run` with its worker processes, its judging and
    its store;
(b) a plain `@given` loop: one case at a time, `jax.jit`, `numpy.testing.assert_allclose`;
(c) XLA alone: it compiles and executes the modules of (a) on the same inputs, with as many
    processes as (a) has workers.

    python -m benchmarks.throughput [--cases 32] [--jobs N] [--rounds 5] [--loop-seconds 20]

Rounds of (a) and (c) alternate, because a machine's speed changes by a tenth within a minute.
Prints distinct programs per second and (program, input) pairs per second of each, by the median
round, the ratio in each round, and how the time of the first round of (a) is spent. Times are wall
seconds; machines differ, so only ratios are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from conformance.backends.base import Backend, BackendError, Description, Executable
from conformance.backends.session import cached_backend
from conformance.campaign.planning import PROFILES, Options, make_batches, plan
from conformance.campaign.progress import Watcher
from conformance.campaign.runner import run
from conformance.limits import Limits
from conformance.results.summary import RunData
from reference.ir.program import Program
from reference.ir.types import Array

MIX = (
    "abs", "add", "ceil", "compare", "cosine", "divide", "exponential", "floor", "log", "maximum",
    "minimum", "multiply", "negate", "sign", "sine", "sqrt", "subtract", "tanh",
)  # fmt: skip
TYPES = ("bf16", "f16", "f32", "f64")
"""Element types. Integers are left out: division of a constant by a constant 0 crashes XLA, and the
recording with it.
"""


@dataclass(frozen=True)
class Rate:
    """An amount of work and the seconds that it took."""

    name: str
    programs: int
    pairs: int
    seconds: float

    def line(self) -> str:
        programs, pairs = self.programs / self.seconds, self.pairs / self.seconds
        return (
            f"{self.name:34}{self.programs:9}{programs:11.1f}{self.pairs:10}{pairs:11.1f}"
            f"{self.seconds:10.1f}"
        )


Calls = list[tuple[Sequence[Array], ...]]
"""The arguments of each execution: for each process, its arrays."""


class Recorder:
    """A backend that records module texts and the arguments of each execution."""

    def __init__(self, inner: Backend) -> None:
        self.inner, self.name, self.hardware = inner, inner.name, inner.hardware
        self.kept: list[tuple[str, Program, Calls]] = []

    def describe(self) -> Description:
        return self.inner.describe()

    def refusal(self, program: Program) -> BackendError | None:
        return self.inner.refusal(program)

    def compile(self, text: str, program: Program) -> _Recorded:
        executable = self.inner.compile(text, program)
        calls: Calls = []
        self.kept.append((text, program, calls))
        return _Recorded(executable, calls)


class _Recorded:
    def __init__(self, executable: Executable, calls: Calls) -> None:
        self.executable, self.calls = executable, calls

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        self.calls.append(tuple(inputs))
        return self.executable.execute(inputs)


def options_of(arguments: argparse.Namespace, out: Path) -> Options:
    return Options(
        out=out, ops=MIX, element_types=TYPES, profile="benchmark", jobs=arguments.jobs,
        expectations="none", limits=Limits(300),
    )  # fmt: skip


class Clock(Watcher):
    """A timer from the first task sent to the last result stored."""

    def start(self, tally: object) -> None:  # noqa: ARG002 - a watcher's method
        self.begun = perf_counter()

    def stop(self) -> None:
        self.seconds = perf_counter() - self.begun


def harness(arguments: argparse.Namespace) -> tuple[Rate, RunData]:
    """Measure (a): the harness as users run it, in seconds from the first task sent to the last
    stored.

    Opening the backend in the first worker comes before that, as it does in (c); in the other
    workers it counts.
    """
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        data = run(options_of(arguments, Path(folder)), clock)
    programs = len({record.digest for record in data.records})
    pairs = sum(record.pairs for record in data.records)
    return Rate("(a) this harness", programs, pairs, clock.seconds), data


def record_modules(arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Replay the tasks of (a) with a recording backend; one file of modules per worker."""
    PROFILES["benchmark"] = arguments.cases
    from conformance.backends import session
    from conformance.campaign import tasks

    recorder = Recorder(cached_backend("cpu"))
    session.cached_backend = lambda _: recorder  # type: ignore[assignment]
    files: list[Path] = []
    chosen = [*make_batches(plan(options_of(arguments, folder)).tasks)]
    for worker in range(arguments.jobs):
        recorder.kept = []
        for batch in chosen[worker :: arguments.jobs]:
            tasks.run_tasks(batch)
        files.append(folder / f"modules-{worker}.pickle")
        files[-1].write_bytes(pickle.dumps(recorder.kept))
    return files


def replay(file: Path, ready: Barrier, seconds: Queue[float]) -> None:
    """Run one process of (c): wait for the others, then compile and execute everything."""
    modules = pickle.loads(file.read_bytes())
    backend = cached_backend("cpu")
    ready.wait()
    begun = perf_counter()
    for text, program, calls in modules:
        executable = backend.compile(text, program)
        for inputs in calls:
            executable.execute(inputs)
    seconds.put(perf_counter() - begun)


SPAWN = multiprocessing.get_context("spawn")


def modules_of_workers(arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Write the modules of (a), in a process of its own; one file for each worker.

    Raises `SystemExit` when XLA ends that process.
    """
    recording = SPAWN.Process(target=record_modules, args=(arguments, folder))
    recording.start()
    recording.join()
    if recording.exitcode:
        raise SystemExit(f"XLA ended while its modules were recorded ({recording.exitcode})")
    return [folder / f"modules-{worker}.pickle" for worker in range(arguments.jobs)]


def xla_alone(files: Sequence[Path], of: Rate) -> Rate:
    """Measure (c): XLA on the modules of (a); the slowest process counts."""
    ready, seconds = SPAWN.Barrier(len(files)), SPAWN.Queue()
    workers = [SPAWN.Process(target=replay, args=(file, ready, seconds)) for file in files]
    for worker in workers:
        worker.start()
    slowest = max(seconds.get() for _ in workers)
    for worker in workers:
        worker.join()
    return replace(of, name="(c) XLA alone, same modules", seconds=slowest)


def median_round(rates: Sequence[Rate]) -> Rate:
    """Return the rate of the median time, of rounds that do the same work."""
    return replace(rates[0], seconds=median(rate.seconds for rate in rates))


def plain_loop(arguments: argparse.Namespace) -> Rate:
    """Measure (b): a user's own loop with `@given`, `jax.jit`, `assert_allclose`."""
    import jax
    import ml_dtypes
    import numpy as np
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
    from hypothesis.errors import HypothesisException
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    table = {
        "abs": (lax.abs, np.abs, 1), "add": (lax.add, np.add, 2), "ceil": (lax.ceil, np.ceil, 1),
        "compare": (lax.lt, np.less, 2), "cosine": (lax.cos, np.cos, 1),
        "divide": (lax.div, np.divide, 2), "exponential": (lax.exp, np.exp, 1),
        "floor": (lax.floor, np.floor, 1), "log": (lax.log, np.log, 1),
        "maximum": (lax.max, np.maximum, 2), "minimum": (lax.min, np.minimum, 2),
        "multiply": (lax.mul, np.multiply, 2), "negate": (lax.neg, np.negative, 1),
        "sign": (lax.sign, np.sign, 1), "sine": (lax.sin, np.sin, 1),
        "sqrt": (lax.sqrt, np.sqrt, 1), "subtract": (lax.sub, np.subtract, 2),
        "tanh": (lax.tanh, np.tanh, 1),
    }  # fmt: skip
    assert set(table) == set(MIX)
    dtypes = [ml_dtypes.bfloat16, np.float16, np.float32, np.float64]
    seen: set[tuple[str, Any, tuple[int, ...]]] = set()
    count = 0
    begun = perf_counter()

    class Enough(HypothesisException):
        """Raised when the time is over."""

    @settings(max_examples=100_000, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
    @given(
        st.sampled_from(MIX), st.sampled_from(dtypes),
        st.lists(st.integers(0, 16), max_size=4), st.integers(0, 2**32 - 1),
    )  # fmt: skip
    def one(op: str, dtype: Any, shape: list[int], seed: int) -> None:
        nonlocal count
        if perf_counter() - begun > arguments.loop_seconds:
            raise Enough
        compute, expected, arity = table[op]
        random = np.random.default_rng(seed)
        inputs = [random.uniform(0.5, 4, shape).astype(dtype) for _ in range(arity)]
        actual = jax.jit(lambda *values: compute(*values))(*inputs)
        wide = [array.astype(np.float64) for array in inputs]
        np.testing.assert_allclose(
            np.asarray(actual).astype(np.float64), expected(*wide).astype(np.float64),
            rtol=float(ml_dtypes.finfo(dtype).eps) * 8, atol=1e-6,
        )  # fmt: skip
        seen.add((op, dtype, tuple(shape)))
        count += 1

    with contextlib.suppress(Enough):
        one()
    return Rate("(b) plain @given loop with jax.jit", len(seen), count, perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=32, help="cases per cell")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5, help="measurements of (a) and of (c)")
    parser.add_argument("--loop-seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    PROFILES["benchmark"] = arguments.cases
    with tempfile.TemporaryDirectory() as folder:
        files = modules_of_workers(arguments, Path(folder))
        rate, data = harness(arguments)
        ours, alone = [rate], [xla_alone(files, rate)]
        for _ in range(1, arguments.rounds):
            ours.append(harness(arguments)[0])
            alone.append(xla_alone(files, rate))
    plain = plain_loop(arguments)
    print(f"{len(MIX)} ops x {len(TYPES)} types, {arguments.cases} cases a cell, "
          f"{arguments.jobs} processes, {data.modules} modules")  # fmt: skip
    print(f"{'':34}{'programs':>9}{'per second':>11}{'pairs':>10}{'per second':>11}{'seconds':>10}")
    for rate in (median_round(ours), plain, median_round(alone)):
        print(rate.line())
    ratios = [c.seconds / a.seconds for a, c in zip(ours, alone, strict=True)]
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"programs per second, (a)/(c): {median(ratios):.2f}, the median of {each}")
    run = median_round(ours)
    pairs = (run.pairs / run.seconds) / (plain.pairs / plain.seconds)
    print(f"pairs per second,    (a)/(b): {pairs:.1f}")
    timing = asdict(data.timing)
    whole = sum(timing.values())
    print("where the time of the first round of (a) goes (seconds over all processes):")
    for part, seconds in timing.items():
        print(f"  {part:12}{seconds:9.2f}{100 * seconds / whole:7.1f} %")


if __name__ == "__main__":
    main()

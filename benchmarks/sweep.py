"""The speed of a sweep, compared with its unavoidable work: XLA's execution and numpy's float64.

    python benchmarks/sweep.py [--op exponential] [--values 268435456] [--backend cpu] [--jobs 2]

Times a sweep of consecutive f32 arguments in one process after the other: the backend's execution,
numpy's function in float64 on the same arguments, and all of a sweep's block. Then the same values
are swept by workers, reference and backend at the same time. All ratios are of one run; ratios of
CPU seconds hold on a busy machine, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import psutil

from conformance.backends.registry import parse
from conformance.backends.session import open_session
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call
from conformance.sweep.arguments import domain_of
from conformance.sweep.block import PIECE, Block, program_of, run_block
from conformance.sweep.function import functions_of
from conformance.sweep.planning import BLOCK

GOAL = 1.5
"""Aim: the ratio of a sweep's time to the sum of both parts, on two cores."""

_CHUNK = 1 << 14
"""Number of elements that numpy processes at a time; they fit in a core's cache."""


def _blocks(op: str, values: int) -> list[Block]:
    """Return blocks that are spread evenly over all f32, with that many values in total."""
    (function,) = functions_of([op], ["f32"])
    domain = domain_of(function, 0, exhaustive=True)
    each, wanted = BLOCK >> 1, max(1, values // BLOCK)
    step = domain.numbers // each // wanted
    starts = (number * step * each for number in range(wanted))
    return [Block((0,), (domain,), start, start + each) for start in starts]


@dataclass
class ElapsedTimes:
    """Wall time, and CPU time of all threads or processes, in seconds."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: ElapsedTimes) -> ElapsedTimes:
        return ElapsedTimes(self.wall + other.wall, self.cpu + other.cpu)

    @contextmanager
    def measured(self, cpu: Callable[[], float] = process_time) -> Generator[None]:
        wall, before = perf_counter(), cpu()
        yield
        self.wall += perf_counter() - wall
        self.cpu += cpu() - before


def _time_blocks(
    blocks: list[Block], backend: str
) -> tuple[ElapsedTimes, ElapsedTimes, ElapsedTimes]:
    """Return the cost of the backend's execution, of numpy in float64, and of blocks in this
    process."""
    session = open_session(backend)
    compiled = session.compile_cached(program_of(blocks[0], PIECE))
    real = blocks[0].domains[0].function.real
    assert real is not None
    run_block(backend, blocks[0])  # compiled by now
    execution, evaluation, whole = ElapsedTimes(), ElapsedTimes(), ElapsedTimes()
    for block in blocks:
        for start in range(block.start, block.stop, PIECE >> 1):
            (x,) = block.domains[0].arguments(start, start + (PIECE >> 1))
            with execution.measured():
                compiled.run((x,))
            with evaluation.measured(), np.errstate(all="ignore"):
                for at in range(0, len(x), _CHUNK):
                    real.fast(x[at : at + _CHUNK].astype(np.float64))
        with whole.measured():
            run_block(backend, block)
    return execution, evaluation, whole


def _descendant_seconds() -> float:
    """Return the CPU seconds of the descendants of this process."""
    found = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found += times.user + times.system
    return found


def _time_in_workers(blocks: list[Block], backend: str, jobs: int) -> ElapsedTimes:
    spent = ElapsedTimes()
    with executor_of(parse(backend), jobs=jobs, functions=(run_block,)) as executor:
        warm = [Call(n, run_block, (backend, blocks[0]), 600.0) for n in range(2 * jobs)]
        list(executor.results(warm))
        calls = (Call(n, run_block, (backend, block), 600.0) for n, block in enumerate(blocks))
        with spent.measured(_descendant_seconds):
            ended = [result.value for result in executor.results(calls) if result is not None]
    if len(ended) < len(blocks) or not all(isinstance(value, tuple) for value in ended):
        raise SystemExit(f"a block failed: {next(v for v in ended if not isinstance(v, tuple))}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--op", default="exponential")
    parser.add_argument("--values", type=int, default=1 << 28)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    blocks = _blocks(given.op, given.values)
    values = len(blocks) * BLOCK
    execution, evaluation, whole = _time_blocks(blocks, given.backend)
    workers = _time_in_workers(blocks, given.backend, given.jobs)
    both = execution + evaluation
    for name, spent in (
        ("execution on the backend", execution),
        ("numpy in float64", evaluation),
        ("both", both),
        ("sweep in one process", whole),
        (f"sweep in {given.jobs} workers", workers),
    ):
        print(
            f"{name:26} {spent.wall:8.2f} s {spent.wall / both.wall:6.2f} x both   "
            f"{spent.cpu:8.2f} CPU s {spent.cpu / both.cpu:6.2f} x both   "
            f"{values / spent.wall / 1e6:8.1f} M values/s"
        )
    print(f"{values:,} values of {given.op} f32; goal: {GOAL} x both in workers")


if __name__ == "__main__":
    main()

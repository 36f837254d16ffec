"""The speed of a sweep against its unavoidable work: XLA's execution and numpy's float64.

    python benchmarks/sweep.py [--op exponential] [--values 268435456] [--backend cpu] [--jobs 2]

Times a sweep of consecutive f32 arguments in one process after the other: the backend's execution,
numpy's function in float64 on the same arguments, and all of a sweep's block. Then the same values
are swept by workers, reference and backend at the same time. All ratios are of one run.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from conformance.backends.registry import parse
from conformance.backends.session import open_session
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call
from conformance.sweep.arguments import domain_of
from conformance.sweep.block import PIECE, Block, program_of, run_block
from conformance.sweep.function import functions_of
from conformance.sweep.planning import BLOCK
from conformance.sweep.runner import PRELOAD

GOAL = 1.5
"""Times the sum of both parts that a sweep may take on two cores."""

_CHUNK = 1 << 14
"""Elements that numpy is given at a time: what fits in a core's cache."""


def _blocks(op: str, values: int) -> list[Block]:
    """Blocks that are spread evenly over all f32, of that many values together."""
    (function,) = functions_of([op], ["f32"])
    domain = domain_of(function, 0, exhaustive=True)
    each, wanted = BLOCK >> 1, max(1, values // BLOCK)
    step = domain.numbers // each // wanted
    starts = (number * step * each for number in range(wanted))
    return [Block((0,), (domain,), start, start + each) for start in starts]


def _timed(blocks: list[Block], backend: str) -> tuple[float, float, float]:
    """Seconds of the backend's execution, of numpy in float64, and of blocks, in this process."""
    session = open_session(backend)
    compiled = session.kept(program_of(blocks[0], PIECE))
    real = blocks[0].domains[0].function.real
    assert real is not None
    run_block(backend, blocks[0])  # compiled by now
    execution = evaluation = whole = 0.0
    for block in blocks:
        for start in range(block.start, block.stop, PIECE >> 1):
            (x,) = block.domains[0].arguments(start, start + (PIECE >> 1))
            begun = perf_counter()
            compiled.run((x,))
            middle = perf_counter()
            with np.errstate(all="ignore"):
                for at in range(0, len(x), _CHUNK):
                    real.fast(x[at : at + _CHUNK].astype(np.float64))
            execution += middle - begun
            evaluation += perf_counter() - middle
        begun = perf_counter()
        run_block(backend, block)
        whole += perf_counter() - begun
    return execution, evaluation, whole


def _in_workers(blocks: list[Block], backend: str, jobs: int) -> float:
    with executor_of(parse(backend), jobs=jobs, preload=PRELOAD) as executor:
        warm = [Call(n, run_block, (backend, blocks[0]), 600.0) for n in range(2 * jobs)]
        list(executor.results(warm))
        begun = perf_counter()
        calls = (Call(n, run_block, (backend, block), 600.0) for n, block in enumerate(blocks))
        ended = [one.value for one in executor.results(calls) if one is not None]
        seconds = perf_counter() - begun
    if len(ended) < len(blocks) or not all(isinstance(value, tuple) for value in ended):
        raise SystemExit(f"a block failed: {next(v for v in ended if not isinstance(v, tuple))}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--op", default="exponential")
    parser.add_argument("--values", type=int, default=1 << 28)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    blocks = _blocks(given.op, given.values)
    values = len(blocks) * BLOCK
    execution, evaluation, whole = _timed(blocks, given.backend)
    workers = _in_workers(blocks, given.backend, given.jobs)
    parts = execution + evaluation
    for name, seconds in (
        ("execution on the backend", execution),
        ("numpy in float64", evaluation),
        ("both", parts),
        ("sweep in one process", whole),
        (f"sweep in {given.jobs} workers", workers),
    ):
        rate = values / seconds / 1e6
        print(f"{name:26} {seconds:8.2f} s  {rate:8.1f} M values/s  {seconds / parts:6.2f} x both")
    print(f"{values:,} values of {given.op} f32; goal: {GOAL} x both in workers")


if __name__ == "__main__":
    main()

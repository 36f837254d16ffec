"""Efficiency of workers: one, two, and two on a Ray cluster of this machine, for the same tasks.

    python -m benchmarks.executors --cases 16 --rounds 3

Each round runs the same cells with each engine, so that other work of the machine slows all of
them. The median of the rounds counts. The start of workers, and of the cluster, is left out: a
first run of one cell has started them. Records must be equal. Without Ray its line is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from time import perf_counter

from conformance.backends.registry import parse
from conformance.campaign.planning import CASES_PER_MODULE, make_batches
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Task, TaskResult, run_tasks
from conformance.catalog import cells
from conformance.executors.backend_workers import executor_of
from conformance.executors.executor import LOCAL, Engine, EngineName, Executor
from conformance.limits import LIMITS
from conformance.results.versions import fingerprint

OPS = ("abs", "add", "cosine", "divide", "exponential", "log", "maximum", "multiply", "tanh")
TYPES = ("bf16", "f16", "f32", "f64")
ONE, TWO, RAY = "one worker", "two workers", "two, on Ray"


def tasks_of(backend: str, cases: int) -> list[Task]:
    chosen = cells(OPS, TYPES, [backend])
    return [Task(cell, 0, 0, min(cases, CASES_PER_MODULE)).plan_cases() for cell in chosen]


def work(executor: Executor, tasks: list[Task]) -> tuple[float, dict[str, TaskResult]]:
    """Run the tasks; return the seconds, and the results by task."""
    begun = perf_counter()
    ended = TaskRunner(LIMITS, print).run(executor, make_batches(tasks))
    results = {one[0].id: one[1] for one in ended if one is not None}
    return perf_counter() - begun, results


def lines_of(
    medians: Mapping[str, float], records: Mapping[str, list[object]], programs: int
) -> Iterator[str]:
    """Yield the figures of each engine, and the overhead of Ray if it was measured."""
    for name, median in medians.items():
        same = "same records" if records[name] == records[ONE] else "OTHER RECORDS"
        yield (
            f"{name:12} {median:7.2f} s, {programs / median:6.1f} programs/s, "
            f"{medians[ONE] / median:.2f} of one worker's speed, {same}"
        )
    if RAY in medians:
        overhead = medians[RAY] / medians[TWO] - 1
        yield f"overhead of Ray against two workers: {100 * overhead:.1f}%"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--backend", default="cpu")
    asked.add_argument("--cases", type=int, default=16, help="of each cell, at most 32")
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--address", help="of a Ray cluster of two cores; by default a new one")
    given = asked.parse_args()
    engines: dict[str, tuple[Engine, int]] = {ONE: (LOCAL, 1), TWO: (LOCAL, 2)}
    if importlib.util.find_spec("ray"):
        engines[RAY] = (Engine(EngineName.RAY, given.address, fingerprint), 2)
    tasks = tasks_of(given.backend, given.cases)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    records: dict[str, list[object]] = {}
    with ExitStack() as stack:
        opened = {
            name: stack.enter_context(
                executor_of(parse(given.backend), jobs=jobs, functions=(run_tasks,), engine=engine)
            )
            for name, (engine, jobs) in engines.items()
        }
        for executor in opened.values():
            work(executor, tasks[: executor.jobs])
        for _ in range(given.rounds):
            for name, executor in opened.items():
                spent, results = work(executor, tasks)
                seconds[name].append(spent)
                records[name] = [results[task.id].records for task in tasks]
    programs = sum(map(len, tasks))
    medians = {name: statistics.median(all_) for name, all_ in seconds.items()}
    for line in lines_of(medians, records, programs):
        sys.stdout.write(f"{line}\n")
    return 0 if all(one == records[ONE] for one in records.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

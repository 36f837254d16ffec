"""Cells drawn, planned and measured in worker processes, because a case may crash its process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from benchmarks.masking.changes import CHANGES
from benchmarks.masking.endings import ENDINGS
from benchmarks.masking.measuring import (
    MaskingCounts,
    Settings,
    expectations_of,
    measure_endings,
    measure_results,
)
from conformance.backends.registry import Choice
from conformance.campaign.planning import make_batches, plan_of
from conformance.campaign.tasks import Task
from conformance.catalog import Cell, cells
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.expectations import is_crash_known
from generators.case.columns import Invalid

SECONDS = 300.0
"""Time limit in seconds of a module's cases, each judged once per change."""


def chosen_cells(
    ops: Sequence[str], types: Sequence[str], backend: str, count: int | None, seed: int
) -> list[Cell]:
    """Draw `count` of the cells that the patterns match, or all if `count` is None.

    Raises:
        LookupError: when a pattern matches nothing.
    """
    matching = cells(ops, types, [backend])
    if count is None or count >= len(matching):
        return matching
    drawn = set(random.Random(seed).sample(matching, count))
    return [cell for cell in matching if cell in drawn]


def tasks_of(cell: Cell, profile: str, seed: int, most: int) -> list[Task]:
    """Draw some of a cell's cases in the profile, each as a task of its own."""
    every = [single for task in plan_of(cell, profile, seed) for single in task.singles()]
    if len(every) > most:
        every = random.Random(f"{seed} {cell}").sample(every, most)
    return [task.plan_cases() for task in sorted(every, key=lambda task: task.start)]


def measure_all(
    choice: Choice,
    chosen: Sequence[Cell],
    profile: str,
    most: int,
    settings: Settings,
    jobs: int | None,
    notice: Callable[[str], None],
) -> MaskingCounts:
    """Measure some cases of each cell; after a worker crash repeat case by case.

    Raises:
        NotAvailable: when the backend is not available.
    """
    found = MaskingCounts()
    expectations = expectations_of(settings.expectations, choice.name)
    apart = {cell for cell in chosen if is_crash_known(expectations, cell.key)}

    def calls() -> Iterator[Call]:
        planned = (task for cell in chosen for task in tasks_of(cell, profile, settings.seed, most))
        for batch in make_batches(planned, apart):
            invalid = isinstance(batch[0].cell.element_type, Invalid)
            if not invalid and any(name in CHANGES for name in settings.changes):
                yield _call(measure_results, batch, settings)
            if any(name in ENDINGS for name in settings.changes):
                yield _call(measure_endings, batch, settings)

    with executor_of(choice, jobs=jobs, functions=(measure_results,)) as executor:
        for ended in executor.results(calls()):
            if ended is None:
                continue
            tasks, value = ended.call.name, ended.value
            if isinstance(value, MaskingCounts):
                notice(f"{tasks[0].cell.op}: {len(value.outcomes)} corrupted results")
                found.add(value)
            elif not isinstance(value, (WorkerCrash, WorkerTimeout)):
                raise value
            elif len(tasks) == 1:
                found.without_results.append(f"{tasks[0].id}: {crash_verdict(value)[2]}")
            else:
                for task in tasks:
                    executor.push(_call(ended.call.function, (task,), settings))
    return found


def _call(measure: Callable[..., MaskingCounts], tasks: Sequence[Task], settings: Settings) -> Call:
    return Call(tuple(tasks), measure, (tuple(tasks), settings), SECONDS)

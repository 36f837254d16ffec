"""Cases that differ from the baseline, run again before they are judged.

A case whose results vary from run to run is `not deterministic`. Otherwise its first result counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conformance.backends.registry import Choice
from conformance.campaign.planning import Options
from conformance.campaign.progress import Watcher
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Manner, Task
from conformance.catalog import Cell
from conformance.executors.executor import Executor
from conformance.gate.baselines.baseline import ReadBaseline
from conformance.gate.baselines.comparison import compare
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation, hypotheses_of, match_record
from conformance.pipeline.confirmation import intermittent_record, repeats_of
from conformance.results.store import Store
from conformance.results.summary import read_store
from conformance.text import plural
from conformance.verdict import Record
from generators.case.columns import column

MOST = 200
"""Largest number of cases that are run again; more differences have another cause than chance."""

_REPEATED = "repeated"
"""The key of the ids of the cases that were run again in the store."""


def repeat_changed_cases(
    store: Store,
    options: Options,
    expectations: Sequence[Expectation],
    workers: Mapping[Choice, Executor],
    watcher: Watcher,
) -> None:
    """Run the cases again whose difference from the baseline may be one from run to run.

    These are all changes on the baseline's own backend, and failures that a flaky entry matches.
    Each is run `--repeat` times, each time in a new process, and no case is run again twice.
    """
    if options.baseline is None or not options.repeats:
        return
    done: list[str] = store.meta().get(_REPEATED, [])
    changed = [one for one in _changed_records(store, options.baseline) if one.id not in done]
    if not changed:
        return
    if len(changed) > MOST:
        watcher.say(f"{len(changed)} cases differ from the baseline: too many to run them again")
        return
    watcher.say(f"running {plural(len(changed), 'case')} again, as the baseline differs")
    repeated: list[Record] = []
    for choice, executor in workers.items():
        known = hypotheses_of(expectations, choice.name)
        runner = TaskRunner(options.limits, watcher.say, Manner(known, options.repeats))
        records = {_task_of(r, options.seed): r for r in changed if r.backend == choice.name}
        again = _run_again(runner, executor, records, options.repeats) if records else {}
        repeated += [
            join_records(records[task], found, expectations) for task, found in again.items()
        ]
    store.settle(repeated)
    store.set_meta({_REPEATED: [*done, *(record.id for record in changed)]})


def _changed_records(store: Store, baseline: ReadBaseline) -> list[Record]:
    """Return the records of changes that may be changes from run to run.

    A case that failed in the same way before has only lost its entry.
    """
    comparison = compare(read_store(store), baseline)
    return [
        change.record
        for change in (*comparison.changes, *comparison.varying)
        if change.record is not None and change.after is not None and change.index is not None
        if change.backend in comparison.same_backends or change.after.flaky
        if not change.after.varies and not change.has_same_end
    ]


def _task_of(record: Record, seed: int) -> Task:
    cell = Cell(record.op, column(record.element_type), record.backend)
    return Task(cell, seed, record.index, record.index + 1).plan_cases()


def _run_again(
    runner: TaskRunner, executor: Executor, tasks: Iterable[Task], times: int
) -> dict[Task, list[Record]]:
    """Return the records of tasks of one case, from running each several times."""
    found: dict[Task, list[Record]] = {task: [] for task in tasks}
    for _ in range(times):
        executor.end_workers()  # the content of its memory is another in a new process
        for ended in runner.run(executor, [(task,) for task in found]):
            if ended is not None:
                found[ended[0]] += ended[1].records
    return found


def join_records(
    first: Record, again: Sequence[Record], expectations: Sequence[Expectation]
) -> Record:
    """Return the record of a case that ran several times: the first, unless verdicts differ."""
    runs = [match_record(record, expectations) for record in (first, *again)]
    failing = [record for record in runs if record.verdict.fails]
    ends = [(record.verdict, record.kind) for record in runs]
    if len({*zip(ends, (record.wrong_digest for record in runs), strict=True)}) == 1:
        return runs[0]
    if not failing:
        return min(runs, key=lambda record: record.verdict.severity)
    for record in failing:
        if record.kind == NOT_DETERMINISTIC:
            return record
    varying = intermittent_record(replace(failing[0], failing=(), known=""), repeats_of(ends))
    return match_record(varying, expectations)

"""Tasks in workers: several at once, and where a worker is lost, one by one and case by case."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.campaign.tasks import (
    LOSING,
    Manner,
    Task,
    TaskResult,
    crash_record,
    join_results,
    run_tasks,
)
from conformance.catalog import Cell
from conformance.executors.executor import Executor
from conformance.executors.local import Call, CallEnd, Died, TimedOut
from conformance.executors.lost import crash_verdict
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.limits import Limits
from conformance.pipeline.confirmation import repeats_of
from conformance.pipeline.records import CaseResult, have_one_ending
from conformance.pipeline.splitting import run_in_parts
from conformance.verdict import Errors, LostBatch, Timing

Notice = Callable[[str], None]

Losing = Callable[[LostBatch], None]
"""Called with each batch whose worker crashed or timed out, at once, and again when more is known.
"""

Bundle = tuple[Task, ...]
"""Tasks that are one call of a worker: they are compiled as one module where that can be."""


@dataclass(slots=True)
class _Lost:
    """A batch that is split: into its tasks or, for a single task, into its cases.

    `batch` is the report if its worker crashed or timed out, `defect` if the harness raised an
    error; both are None if the batch was never run as a whole. `left` parts have not ended.
    """

    bundle: Bundle
    batch: LostBatch | None
    defect: str
    left: int
    results: list[TaskResult] = field(default_factory=list[TaskResult])

    @property
    def blames_nobody(self) -> bool:
        """Whether each part has results, or an answer of the backend."""
        records = [record for result in self.results for record in result.records]
        if len(records) < sum(map(len, self.bundle)):
            return False  # over a case without a record, the harness raised an error: it was told
        return not any(record.verdict in LOSING for record in records)


@dataclass(frozen=True, slots=True)
class _Again:
    """A batch whose worker crashed or timed out, though none of its cases did in isolation: run
    once more.
    """

    bundle: Bundle
    number: int


def run_isolated(
    executor: Executor,
    bundles: Iterable[Bundle],
    limits: Limits,
    notice: Notice,
    apart: Container[Cell] = (),
    manner: Manner = Manner(),  # noqa: B008 - it is frozen
    losing: Losing | None = None,
    overwriting: Container[Cell] = (),
) -> Generator[tuple[Task, TaskResult] | None]:
    """Do the tasks of these batches in workers and yield each with its result, as they end.

    If the worker of a batch crashes or times out, the batch is split into its tasks, and a task
    into its cases. That costs hardly more than halving, and a hang is waited for twice more, not
    five times. Cases of the cells in `apart`, which are known to crash, are in isolation from the
    start. Any other case that crashes in isolation is run again, to see whether it does so every
    time. So is a batch that crashes though none of its cases does. Batches that crash are passed
    to `losing`, whether a case is to blame or not. Without `losing`, batches that blame no case
    are passed to `notice`. So is a case for which the harness raised an error: it has no record.

    After cases of the cells in `overwriting`, which are known to write to memory that is not
    theirs, the worker is replaced: it could give wrong results for other cases.

    Yields None now and then, while no call ends.

    Raises:
        NotAvailable: if the backend is not available, or no worker can be started.
    """
    parts = _Parts(limits, notice, losing, manner, overwriting)

    def calls() -> Generator[Call]:
        for bundle in bundles:
            begins_apart = any(len(task) > 1 and task.cell in apart for task in bundle)
            yield from parts.of(bundle) if begins_apart else [parts.call(bundle, limits.timeout)]

    for ended in run_in_parts(executor, calls(), parts.replacing):
        if ended is None:
            yield None
            continue
        if isinstance(ended.call.name, _Again):
            parts.counted(ended.call.name, ended.value)
            continue
        bundle: Bundle = ended.call.name
        results = _results_of(ended, notice)
        is_lost = isinstance(ended.value, (Died, TimedOut))
        if bundle in parts.tries or is_lost:
            tries = parts.tries.setdefault(bundle, [])
            tries += results
            if len(tries) <= (0 if bundle[0].cell in apart else manner.repeats):
                executor.push(parts.call(bundle, limits.item))
                continue
            results = [_summed_up(parts.tries.pop(bundle))]
        for task, result in zip(bundle, results, strict=True):
            yield from parts.ended(task, result)
        while parts.calls:
            executor.push(parts.calls.popleft())


@dataclass(frozen=True, slots=True)
class _Parts:
    """The batches that are split, by each part that has not ended.

    `tries` are the results so far of cases that are run again, because their worker crashed or
    timed out in isolation. `again` are the batches that are run again, with the number of their
    crashes. `calls` are to be made.
    """

    limits: Limits
    notice: Notice
    losing: Losing | None
    manner: Manner
    overwriting: Container[Cell]
    lost: dict[Task, _Lost] = field(default_factory=dict["Task", "_Lost"])
    tries: dict[Bundle, list[TaskResult]] = field(default_factory=dict["Bundle", list[TaskResult]])
    again: dict[Bundle, LostBatch] = field(default_factory=dict["Bundle", LostBatch])
    calls: deque[Call] = field(default_factory=deque["Call"])

    def replacing(self, call: Call, value: Any) -> list[Call]:
        """Return the calls that replace a call of several tasks or cases; none for a case."""
        bundle = call.name
        if isinstance(bundle, _Again) or (len(bundle) == 1 and len(bundle[0]) == 1):
            return []
        return self.of(bundle, value)

    def of(self, bundle: Bundle, value: Any = None) -> list[Call]:
        """Return the calls of a batch's parts, which are awaited from now on; `value` is the end of
        the whole.
        """
        batch = _batch(bundle, value)
        is_defect = value is not None and batch is None
        defect = f"defect of hlo-conformance ({type(value).__name__}: {value})" if is_defect else ""
        if batch is not None and self.losing is not None:
            self.losing(batch)
        parts = [*bundle] if len(bundle) > 1 else [one for task in bundle for one in task.singles()]
        self.lost.update(dict.fromkeys(parts, _Lost(bundle, batch, defect, len(parts))))
        seconds = self.limits.timeout if len(bundle) > 1 else self.limits.item
        return [self.call((one,), seconds) for one in parts]

    def call(self, bundle: Bundle, timeout: float) -> Call:
        """Return the call of a worker that does the tasks of a batch."""
        overwrites = any(task.cell in self.overwriting for task in bundle)
        return Call(bundle, run_tasks, (bundle, self.manner), timeout, overwrites)

    def ended(self, task: Task, result: TaskResult) -> Generator[tuple[Task, TaskResult]]:
        """Yield the results that become final with this result of a task: a planned task, or a case
        of such a task.
        """
        whole = self.lost.pop(task, None)
        if whole is None or len(whole.bundle) > 1:
            yield task, result
        if whole is None:
            return
        whole.results.append(result)
        whole.left -= 1
        if whole.left:
            return
        if whole.blames_nobody and whole.defect:
            self.notice(
                f"{_name(whole.bundle)}: {whole.defect}, and with none of these cases alone"
            )
        elif whole.blames_nobody and whole.batch is not None:
            self.again[whole.bundle] = whole.batch
            for number in range(self.manner.repeats):
                name, given = _Again(whole.bundle, number), (whole.bundle, self.manner)
                self.calls.append(Call(name, run_tasks, given, self.limits.timeout))
        if len(whole.bundle) == 1:
            yield from self.ended(whole.bundle[0], join_results(whole.results))

    def counted(self, again: _Again, value: Any) -> None:
        """Count a run of a whole batch, which had lost its worker before."""
        batch = self.again[again.bundle]
        failed = batch.failed + isinstance(value, (Died, TimedOut))
        self.again[again.bundle] = batch = replace(batch, failed=failed, runs=batch.runs + 1)
        if self.losing is not None:
            self.losing(batch)
        elif batch.runs > self.manner.repeats:
            self.notice(batch.line)


def _name(bundle: Bundle) -> str:
    return bundle[0].id if len(bundle) == 1 else f"{bundle[0].id} to {bundle[-1].id}"


def _batch(bundle: Bundle, value: Any) -> LostBatch | None:
    """Return the report of a batch whose worker crashed or timed out; None for other values."""
    if not isinstance(value, (Died, TimedOut)):
        return None
    cases = tuple(
        (task.cell.op, task.cell.element_type.name, index)
        for task in bundle
        for index in range(task.start, task.stop)
    )
    return LostBatch(bundle[0].cell.backend, cases, *crash_verdict(value))


def _results_of(ended: CallEnd, notice: Notice) -> list[TaskResult]:
    """Return the result of each task; that of a single case that lost its worker is made here."""
    bundle, value = ended.call.name, ended.value
    if isinstance(value, list):
        return value
    if not isinstance(value, (Died, TimedOut)):
        notice(
            f"defect of hlo-conformance in {_name(bundle)}, which has no verdict "
            f"({type(value).__name__}: {value}): please report it"
        )
        return [join_results([])]
    timing = Timing(execution=ended.seconds)  # the parts of a lost call are not measured
    return [TaskResult((crash_record(bundle[0], *crash_verdict(value)),), Errors(), timing, 0, 0.0)]


def _summed_up(tries: Sequence[TaskResult]) -> TaskResult:
    """Return the result of a case whose worker crashed or timed out in the first of these tries. If
    it did not fail in every try, the record says in how many it did.
    """
    first = tries[0]
    records = [record for one in tries for record in one.records]
    repeats = repeats_of([(record.verdict, record.kind) for record in records])
    (record,) = first.records
    if repeats.failed == len(tries):
        is_steady = record.verdict in LOSING and have_one_ending(records)
        return replace(first, by_case=(CaseResult(record, Errors(), is_steady),))
    head, colon, words = record.message.partition(": ")
    message = f"{head} in {repeats.failed} of {repeats.runs} runs{colon}{words}"
    changed = replace(record, kind=NOT_DETERMINISTIC, message=message, repeats=repeats)
    return replace(first, records=(changed,))

"""Tasks in workers: batches at first; after a crash or timeout, task by task and case by case."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.campaign.tasks import (
    LOSING,
    Manner,
    Task,
    TaskBatch,
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
"""A function that is called with each batch whose worker crashed or timed out, at once and when
more is known.
"""


@dataclass(slots=True)
class _Lost:
    """A batch that is split: into its tasks or, for a single task, into its cases.

    `batch` is the report if its worker crashed or timed out, `defect` if the harness raised an
    error; both are None if the batch was never run as a whole. `left` parts have not ended.
    """

    tasks: TaskBatch
    batch: LostBatch | None
    defect: str
    left: int
    results: list[TaskResult] = field(default_factory=list[TaskResult])

    @property
    def blames_nobody(self) -> bool:
        """Return whether each part has results, or an error of the backend, so that no case is to
        blame.
        """
        records = [record for result in self.results for record in result.records]
        if len(records) < sum(map(len, self.tasks)):
            return False  # over a case without a record, the harness raised an error: it was told
        return not any(record.verdict in LOSING for record in records)


@dataclass(frozen=True, slots=True)
class _Again:
    """A batch whose worker crashed or timed out, though none of its cases did in isolation: run
    once more.
    """

    tasks: TaskBatch
    number: int


def run_isolated(
    executor: Executor,
    batches: Iterable[TaskBatch],
    limits: Limits,
    notice: Notice,
    apart: Container[Cell] = (),
    manner: Manner = Manner(),  # noqa: B008 - it is frozen
    losing: Losing | None = None,
    overwriting: Container[Cell] = (),
) -> Generator[tuple[Task, TaskResult] | None]:
    """Run the tasks of these batches in workers, and yield each task with its result when it ends.

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
    splitter = _Splitter(limits, notice, losing, manner, apart, overwriting)
    calls = (call for batch in batches for call in splitter.calls(batch))
    for ended in run_in_parts(executor, calls, splitter.replacements):
        if ended is None:
            yield None
        else:
            yield from splitter.results(ended)
            while splitter.further:
                executor.push(splitter.further.popleft())


@dataclass(frozen=True, slots=True)
class _Splitter:
    """The batches that are split, by each part that has not ended.

    `tries` are the results so far of cases that are run again, because their worker crashed or
    timed out in isolation. `again` are the batches that are run again, with the number of their
    crashes. `further` are calls that follow from a call that ended.
    """

    limits: Limits
    notice: Notice
    losing: Losing | None
    manner: Manner
    apart: Container[Cell]
    overwriting: Container[Cell]
    lost: dict[Task, _Lost] = field(default_factory=dict["Task", "_Lost"])
    tries: dict[TaskBatch, list[TaskResult]] = field(
        default_factory=dict["TaskBatch", list[TaskResult]]
    )
    again: dict[TaskBatch, LostBatch] = field(default_factory=dict["TaskBatch", LostBatch])
    further: deque[Call] = field(default_factory=deque["Call"])

    def calls(self, batch: TaskBatch) -> list[Call]:
        """Return the call of a batch, or of each case of a batch with cells in `apart`."""
        if any(len(task) > 1 and task.cell in self.apart for task in batch):
            return self._parts(batch)
        return [self._call(batch, self.limits.timeout)]

    def replacements(self, call: Call, value: Any) -> list[Call]:
        """Return the calls that replace a call of several tasks or cases; none for a case."""
        batch = call.name
        if isinstance(batch, _Again) or (len(batch) == 1 and len(batch[0]) == 1):
            return []
        return self._parts(batch, value)

    def results(self, ended: CallEnd) -> Generator[tuple[Task, TaskResult]]:
        """Yield the tasks that end with this call, each with its result."""
        batch, value = ended.call.name, ended.value
        if isinstance(batch, _Again):
            self._count_crash(batch, value)
            return
        if isinstance(value, list):
            results: Sequence[TaskResult] = value
        elif isinstance(value, (Died, TimedOut)):
            results = [_crash_result(batch[0], ended)]
        else:
            self.notice(
                f"defect of hlo-conformance in {_name(batch)}, which has no verdict "
                f"({type(value).__name__}: {value}): please report it"
            )
            results = [join_results([])]
        if batch in self.tries or isinstance(value, (Died, TimedOut)):
            results = self._finish_retries(batch, results)
            if not results:
                return
        for task, result in zip(batch, results, strict=True):
            if task in self.lost:
                yield from self._end_part(task, result)
            else:
                yield task, result

    def _finish_retries(
        self, batch: TaskBatch, results: Sequence[TaskResult]
    ) -> Sequence[TaskResult]:
        """Return the result of a case that has been run often enough, else None."""
        tries = self.tries.setdefault(batch, [])
        tries += results
        if len(tries) > (0 if batch[0].cell in self.apart else self.manner.repeats):
            return [_summarise(self.tries.pop(batch))]
        self.further.append(self._call(batch, self.limits.item))
        return []

    def _parts(self, batch: TaskBatch, value: Any = None) -> list[Call]:
        """Return the calls for the parts of a batch, and await them; `value` is the end of the
        whole.
        """
        lost = _lost_batch(batch, value)
        is_defect = value is not None and lost is None
        defect = f"defect of hlo-conformance ({type(value).__name__}: {value})" if is_defect else ""
        if lost is not None and self.losing is not None:
            self.losing(lost)
        parts = [*batch] if len(batch) > 1 else [one for task in batch for one in task.singles()]
        self.lost.update(dict.fromkeys(parts, _Lost(batch, lost, defect, len(parts))))
        seconds = self.limits.timeout if len(batch) > 1 else self.limits.item
        return [self._call((one,), seconds) for one in parts]

    def _call(self, batch: TaskBatch, timeout: float) -> Call:
        """Return the worker call that runs the tasks of a batch."""
        overwrites = any(task.cell in self.overwriting for task in batch)
        return Call(batch, run_tasks, (batch, self.manner), timeout, overwrites)

    def _end_part(self, task: Task, result: TaskResult) -> Generator[tuple[Task, TaskResult]]:
        """Yield the results that become final with this result of a part: a planned task, or a case
        of such a task.
        """
        whole = self.lost.pop(task)
        if len(whole.tasks) > 1:
            yield task, result
        whole.results.append(result)
        whole.left -= 1
        if whole.left:
            return
        if whole.blames_nobody and whole.defect:
            self.notice(f"{_name(whole.tasks)}: {whole.defect}, and with none of these cases alone")
        elif whole.blames_nobody and whole.batch is not None:
            self.again[whole.tasks] = whole.batch
            for number in range(self.manner.repeats):
                name, given = _Again(whole.tasks, number), (whole.tasks, self.manner)
                self.further.append(Call(name, run_tasks, given, self.limits.timeout))
        if len(whole.tasks) == 1:
            (task,), result = whole.tasks, join_results(whole.results)
            if task in self.lost:
                yield from self._end_part(task, result)
            else:
                yield task, result

    def _count_crash(self, again: _Again, value: Any) -> None:
        """Count a repeated run of a whole batch whose worker had crashed before."""
        batch = self.again[again.tasks]
        failed = batch.failed + isinstance(value, (Died, TimedOut))
        self.again[again.tasks] = batch = replace(batch, failed=failed, runs=batch.runs + 1)
        if self.losing is not None:
            self.losing(batch)
        elif batch.runs > self.manner.repeats:
            self.notice(batch.line)


def _name(batch: TaskBatch) -> str:
    return batch[0].id if len(batch) == 1 else f"{batch[0].id} to {batch[-1].id}"


def _lost_batch(tasks: TaskBatch, value: Any) -> LostBatch | None:
    """Return the report of a batch whose worker crashed or timed out; None for other values."""
    if not isinstance(value, (Died, TimedOut)):
        return None
    cases = tuple(
        (task.cell.op, task.cell.element_type.name, index)
        for task in tasks
        for index in range(task.start, task.stop)
    )
    return LostBatch(tasks[0].cell.backend, cases, *crash_verdict(value))


def _crash_result(task: Task, ended: CallEnd) -> TaskResult:
    """Return the result of a single case whose worker crashed or timed out."""
    timing = Timing(execution=ended.seconds)  # the parts of a lost call are not measured
    return TaskResult((crash_record(task, *crash_verdict(ended.value)),), Errors(), timing, 0, 0.0)


def _summarise(tries: Sequence[TaskResult]) -> TaskResult:
    """Return the result of a case from several tries; the worker crashed or timed out in the
    first.
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

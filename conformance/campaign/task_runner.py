"""Tasks in workers: several in a call; after a crash or a timeout one by one, then case by case."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from conformance.campaign.tasks import (
    LOSING,
    Manner,
    PartialTask,
    Task,
    TaskBatch,
    TaskResult,
    crash_record,
    join_results,
    run_tasks,
)
from conformance.catalog import Cell
from conformance.executors.executor import Executor
from conformance.executors.local import (
    Call,
    CallEnd,
    WorkerCrash,
    WorkerTimeout,
    is_starved,
)
from conformance.executors.lost import crash_verdict, own_words
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.limits import Limits
from conformance.pipeline.confirmation import repeats_of
from conformance.pipeline.records import CaseResult, have_one_ending
from conformance.pipeline.splitting import BatchCall, RepeatedEnd, SplitCall, run_in_parts
from conformance.verdict import Errors, LostBatch, Record, Timing


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks in worker processes.

    If the worker of a batch crashes or times out, the batch is split into its tasks, and a task
    into its cases. Splitting at once costs hardly more than halving, and a case that hangs is
    waited for two more times instead of five. Cases of the cells in `crashing`, which are known to
    crash, run in isolation from the start. They are not repeated if the crash `is_known`. After
    cases of the cells in `overwriting`, which are known to write to foreign memory, the worker is
    replaced, because it could give wrong results for other cases.

    Batches that crash are passed to `losing`, whether a case is the culprit or not. Without
    `losing`, batches without a culprit are passed to `notice`. A case for which the harness raised
    an error is also passed to `notice`, and has no record. `remark` is called for cases that are
    run again because their worker waited for a processor.
    """

    limits: Limits
    notice: Callable[[str], None]
    manner: Manner = Manner()  # noqa: RUF009 - it is frozen
    losing: Callable[[LostBatch], None] | None = None
    crashing: Container[Cell] = ()
    overwriting: Container[Cell] = ()
    is_known: Callable[[Record], bool] = lambda _: False
    remark: Callable[[str], None] = lambda _: None
    partial_tasks: dict[Task, PartialTask] = field(default_factory=dict["Task", "PartialTask"])
    """Split tasks, by each case that has not ended."""

    def run(
        self, executor: Executor, batches: Iterable[TaskBatch]
    ) -> Generator[tuple[Task, TaskResult] | None]:
        """Run the tasks of these batches in workers. Yield each task with its result when it ends.

        Yields None now and then, while no call ends.

        Raises:
            NotAvailable: if the backend is not available, or no worker can be started.
        """
        calls = (call for batch in batches for call in self._calls(batch))
        for ended in run_in_parts(executor, calls, self._note_split, self._note_postponed):
            if ended is None:
                yield None
                continue
            batch: TaskBatch = ended.call.name
            value: Any = ended.value
            results = value if isinstance(value, list) else [self._result_without_value(ended)]
            for task, result in zip(batch, results, strict=True):
                if task in self.partial_tasks:
                    yield from self.partial_tasks.pop(task).add(result)
                else:
                    yield task, result

    def _calls(self, batch: TaskBatch, seconds: float | None = None) -> list[BatchCall]:
        """Return the call of a batch, or the calls of its parts if a cell is known to crash."""
        is_single = len(batch) == 1 and len(batch[0]) == 1
        is_crashing = any(task.cell in self.crashing for task in batch)
        if is_crashing and not is_single:
            return self._parts(batch)
        repeated = self.limits.item if is_single else self.limits.timeout
        return [
            BatchCall(
                batch,
                run_tasks,
                (batch, self.manner),
                seconds or self.limits.timeout,
                ends_worker=any(task.cell in self.overwriting for task in batch),
                parts=partial(self._parts, batch),
                splits_errors=True,
                repeats=[repeated] * self.manner.repeats,
                is_expected=partial(self._is_expected, batch) if is_crashing else None,
            )
        ]

    def _parts(self, batch: TaskBatch) -> list[BatchCall]:
        """Return the calls of a batch's tasks or of a task's cases; none for a single case."""
        if len(batch) != 1:
            return [call for task in batch for call in self._calls((task,))]
        task = batch[0]
        if len(task) == 1:
            return []
        cases = task.singles()
        self.partial_tasks.update(dict.fromkeys(cases, PartialTask(task, [], len(cases))))
        return [call for case in cases for call in self._calls((case,), self.limits.item)]

    def _is_expected(self, batch: TaskBatch, lost: WorkerCrash | WorkerTimeout) -> bool:
        """Return whether the end of a single case is known."""
        (task,) = batch
        return self.is_known(crash_record(task, *crash_verdict(lost)))

    def _note_postponed(self, call: Call, lost: WorkerTimeout) -> None:
        """Report a case that is run again at the end."""
        _, _, words = crash_verdict(lost)
        self.remark(f"{_name(call.name)}: {words}; run again by itself at the end")

    def _result_without_value(self, ended: CallEnd) -> TaskResult:
        """Return the result of a case that crashed its worker, timed out, or made the harness
        raise.
        """
        batch = ended.call.name
        further = ended.further if isinstance(ended, RepeatedEnd) else ()
        tries = [self._result_of_case(batch, value, ended.seconds) for value in further]
        first = self._result_of_case(batch, ended.value, ended.seconds)
        is_lost = isinstance(ended.value, (WorkerCrash, WorkerTimeout))
        return _summarise([first, *tries]) if is_lost else first

    def _result_of_case(self, batch: TaskBatch, value: Any, seconds: float) -> TaskResult:
        """Return the result of a single case from the value of its call."""
        if isinstance(value, list):
            (result,) = value
            return result
        if isinstance(value, (WorkerCrash, WorkerTimeout)):
            (task,) = batch
            record = crash_record(task, *crash_verdict(value))
            timing = Timing(execution=seconds)  # the parts of a lost call are not measured
            return TaskResult((record,), Errors(), timing, 0, 0.0)
        self.notice(
            f"defect of hlo-conformance in {_name(batch)}, which has no verdict "
            f"({type(value).__name__}: {value}): please report it"
        )
        return join_results([])

    def _note_split(self, split: SplitCall) -> None:
        """Report a batch that was split, and how often it failed as a whole.

        The timeout of a worker that waited for a processor says nothing about its batch.
        """
        tasks, value = split.call.name, split.value
        if not isinstance(value, (WorkerCrash, WorkerTimeout)):
            if not (split.left or split.has_culprit):
                self.notice(
                    f"{_name(tasks)}: defect of hlo-conformance ({type(value).__name__}: {value}); "
                    "in isolation, none of these cases shows it"
                )
            return
        if is_starved(value):
            return
        batch = _lost_batch(tasks, value, split)
        if self.losing is not None:
            if split.left or split.runs > 1:
                self.losing(batch)
        elif 1 < split.runs == 1 + self.manner.repeats:
            self.notice(batch.line)


def _name(batch: TaskBatch) -> str:
    return batch[0].id if len(batch) == 1 else f"{batch[0].id} to {batch[-1].id}"


def _lost_batch(
    tasks: TaskBatch, value: WorkerCrash | WorkerTimeout, split: SplitCall
) -> LostBatch:
    """Return the report of a batch whose worker crashed or timed out."""
    cases = tuple(
        (task.cell.op, task.cell.element_type.name, index)
        for task in tasks
        for index in range(task.start, task.stop)
    )
    backend, said = tasks[0].cell.backend, crash_verdict(value)
    return LostBatch(backend, cases, *said, failed=split.failed, runs=split.runs)


def _summarise(tries: Sequence[TaskResult]) -> TaskResult:
    """Return the result of a case from several tries; the worker crashed or timed out in the
    first. The words of the backend may be missing in some tries.
    """
    first = tries[0]
    records = [record for one in tries for record in one.records]
    repeats = repeats_of([(record.verdict, record.kind) for record in records])
    alike = [record for record in records if record.verdict is records[0].verdict]
    record = next((record for record in alike if own_words(record.message)), alike[0])
    if repeats.failed == len(tries):
        is_steady = record.verdict in LOSING and have_one_ending(records)
        case = CaseResult(record, Errors(), is_steady)
        return replace(first, records=(record,), by_case=(case,))
    head, colon, words = record.message.partition(": ")
    message = f"{head} in {repeats.failed} of {repeats.runs} runs{colon}{words}"
    changed = replace(record, kind=NOT_DETERMINISTIC, message=message, repeats=repeats)
    return replace(first, records=(changed,))

"""Tasks in workers: where a worker is lost, the cases of its task one by one."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from dataclasses import dataclass, field

from conformance.campaign.tasks import Task, TaskResult, joined, lost_record, run_task
from conformance.errors import NotAvailable
from conformance.executors.local import Call, Died, Ended, LocalExecutor, TimedOut
from conformance.executors.lost import why
from conformance.verdict import Errors, Timing, Verdict

Notice = Callable[[str], None]


@dataclass(slots=True)
class _Split:
    """A task whose cases are each on their own, as far as they have ended.

    `why` says how its worker was lost, "" when nobody tried it as a whole.
    """

    task: Task
    why: str
    parts: list[TaskResult] = field(default_factory=list[TaskResult])


def run_isolated(
    executor: LocalExecutor,
    tasks: Sequence[Task],
    timeout: float,
    notice: Notice,
    apart: Container[Task] = (),
) -> Generator[tuple[Task, TaskResult] | None]:
    """Do the tasks in workers and yield each with its result, in the order of ending.

    A task may take `timeout` seconds, a single case of one whose worker was lost a third of that.
    All cases apart cost hardly more than halving, and a hang is waited for once more, not five
    times. Cases of the tasks in `apart`, which are known to lose workers, are on their own from the
    start. What belongs to no case goes to `notice`: a task that broke the harness, which has no
    result; and workers that were lost over cases of which none alone is to blame. Yields None
    now and then, while nothing ends.

    Raises:
        NotAvailable: when the backend cannot be had, or no worker can be started.
    """
    splits: dict[Task, _Split] = {}

    def split(task: Task, why: str) -> list[Call]:
        begun = _Split(task, why)
        splits.update(dict.fromkeys(task.singles(), begun))
        return [Call(single, run_task, (single,), timeout / 3) for single in task.singles()]

    calls: list[Call] = []
    for task in tasks:
        begins_apart = len(task) > 1 and task in apart
        calls += split(task, "") if begins_apart else [Call(task, run_task, (task,), timeout)]
    for ended in executor.results(calls):
        if ended is None:
            yield None
            continue
        task: Task = ended.call.name
        result = _result_of(ended, notice)
        if result is None and isinstance(ended.value, (Died, TimedOut)):
            for call in split(task, why(ended.value)[2]):
                executor.push(call)
        elif result is not None and task in splits:
            whole = _gathered(splits[task], result, notice)
            if whole is not None:
                yield whole
        elif result is not None:
            yield task, result


def _result_of(ended: Ended, notice: Notice) -> TaskResult | None:
    """The result, made up for a single case that lost its worker; None where there is none."""
    task, value = ended.call.name, ended.value
    if isinstance(value, TaskResult):
        return value
    if isinstance(value, NotAvailable):
        raise value
    if not isinstance(value, (Died, TimedOut)):
        notice(f"{task.id}: {type(value).__name__}: {value}")
        return None
    if len(task) > 1:
        return None
    return TaskResult((lost_record(task, *why(value)),), Errors(), Timing(), 0, 0.0)


def _gathered(split: _Split, part: TaskResult, notice: Notice) -> tuple[Task, TaskResult] | None:
    split.parts.append(part)
    if len(split.parts) < len(split.task):
        return None
    whole = joined(split.parts)
    lost = (Verdict.CRASHED, Verdict.TIMED_OUT)
    if split.why and not any(record.verdict in lost for record in whole.records):
        notice(f"{split.task.id}: {split.why}, and with none of these cases alone")
    return split.task, whole

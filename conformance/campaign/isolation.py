"""Tasks in workers: several at once, and where a worker is lost, one by one and case by case."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.campaign.batch import ROUNDS
from conformance.campaign.tasks import Task, TaskResult, joined, lost_record, run_tasks
from conformance.catalog import Cell
from conformance.errors import NotAvailable
from conformance.executors.local import Call, Died, Ended, LocalExecutor, TimedOut
from conformance.executors.lost import why
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.known.rewritings.stated import Stated
from conformance.verdict import Errors, Timing, Verdict

Notice = Callable[[str], None]

Bundle = tuple[Task, ...]
"""Tasks that are one call of a worker: they are compiled as one module where that can be."""


@dataclass(slots=True)
class _Lost:
    """A bundle whose worker was lost, or whose cases nobody tried together (`why` is "" then).

    Its parts are its tasks or, of a single task, its cases; `left` of them have not ended.
    """

    bundle: Bundle
    why: str
    left: int
    results: list[TaskResult] = field(default_factory=list[TaskResult])

    def blames_nobody(self) -> bool:
        """Whether a worker was lost, and with none of the parts alone."""
        records = [record for result in self.results for record in result.records]
        if not self.why or len(records) < sum(map(len, self.bundle)):
            return False  # over a case without a record, the harness raised an error: it was told
        lost = (Verdict.CRASHED, Verdict.TIMED_OUT)
        return not any(record.verdict in lost for record in records)


def run_isolated(
    executor: LocalExecutor,
    bundles: Iterable[Bundle],
    timeout: float,
    notice: Notice,
    apart: Container[Cell] = (),
    hypotheses: Sequence[Stated] = (),
) -> Generator[tuple[Task, TaskResult] | None]:
    """Do the tasks of these bundles in workers and yield each with its result, as they end.

    A bundle may take `timeout` seconds, a single case of one whose worker was lost a third of that.
    Where a worker is lost, the tasks of the bundle go on one by one, and the cases of a task: that
    costs hardly more than halving, and a hang is waited for twice more, not five times. Cases of
    the cells in `apart`, which are known to lose workers and are no part of larger bundles, are on
    their own from the start. Any other case that ends a worker alone is run again, to see whether
    it does so every time. What belongs to no case goes to `notice`: a case over which the harness
    raised an error, which has no record; and workers that were lost over cases of which none alone
    is to blame. `hypotheses` are what expectations say that the backend computes in place of ops.

    Yields None now and then, while nothing ends.

    Raises:
        NotAvailable: when the backend cannot be had, or no worker can be started.
    """
    parts = _Parts(timeout, notice, tuple(hypotheses))

    def calls() -> Generator[Call]:
        for bundle in bundles:
            begins_apart = any(len(task) > 1 and task.cell in apart for task in bundle)
            yield from parts.of(bundle, "") if begins_apart else [parts.call(bundle, timeout)]

    for ended in executor.results(calls()):
        if ended is None:
            yield None
            continue
        bundle: Bundle = ended.call.name
        results = _results_of(ended, notice)
        if bundle in parts.tries or (
            isinstance(ended.value, Died) and results and bundle[0].cell not in apart
        ):
            tries = parts.tries.setdefault(bundle, [])
            tries += results
            if results and len(tries) < ROUNDS:
                executor.push(parts.call(bundle, timeout / 3))
                continue
            results = [_summed_up(parts.tries.pop(bundle))]
        for task, result in zip(bundle, results, strict=False):  # none where it goes on in parts
            yield from parts.ended(task, result)
        if not results:
            for call in parts.of(bundle, _why(ended.value)):
                executor.push(call)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The bundles that go on in parts, by each part that has not ended.

    `tries` are the results so far of cases that are run again, as they ended a worker alone.
    """

    timeout: float
    notice: Notice
    hypotheses: tuple[Stated, ...]
    lost: dict[Task, _Lost] = field(default_factory=dict["Task", "_Lost"])
    tries: dict[Bundle, list[TaskResult]] = field(default_factory=dict["Bundle", list[TaskResult]])

    def of(self, bundle: Bundle, why: str) -> list[Call]:
        """The calls of a bundle's parts, from now on awaited."""
        parts = [*bundle] if len(bundle) > 1 else [one for task in bundle for one in task.singles()]
        self.lost.update(dict.fromkeys(parts, _Lost(bundle, why, len(parts))))
        seconds = self.timeout if len(bundle) > 1 else self.timeout / 3
        return [self.call((one,), seconds) for one in parts]

    def call(self, bundle: Bundle, timeout: float) -> Call:
        """Return the call of a worker that does the tasks of a bundle."""
        return Call(bundle, run_tasks, (bundle, self.hypotheses), timeout)

    def ended(self, task: Task, result: TaskResult) -> Generator[tuple[Task, TaskResult]]:
        """What is done with this result of a task: a task as it was planned, or a case of one."""
        whole = self.lost.pop(task, None)
        if whole is None or len(whole.bundle) > 1:
            yield task, result
        if whole is None:
            return
        whole.results.append(result)
        whole.left -= 1
        if whole.left:
            return
        if whole.blames_nobody():
            self.notice(f"{_name(whole.bundle)}: {whole.why}, and with none of these cases alone")
        if len(whole.bundle) == 1:
            yield from self.ended(whole.bundle[0], joined(whole.results))


def _name(bundle: Bundle) -> str:
    return bundle[0].id if len(bundle) == 1 else f"{bundle[0].id} to {bundle[-1].id}"


def _why(value: Any) -> str:
    if isinstance(value, (Died, TimedOut)):
        return why(value)[2]
    return f"defect of hlo-conformance ({type(value).__name__}: {value})"


def _results_of(ended: Ended, notice: Notice) -> list[TaskResult]:
    """The results of each task, made up for a single case that lost its worker; or none."""
    bundle, value = ended.call.name, ended.value
    if isinstance(value, list):
        return value
    if isinstance(value, NotAvailable):
        raise value
    if len(bundle) > 1:
        return []  # there is an answer for each of its tasks
    if len(bundle[0]) > 1:
        return []  # for each of its cases
    if not isinstance(value, (Died, TimedOut)):
        notice(
            f"defect of hlo-conformance in {_name(bundle)}, which has no verdict "
            f"({type(value).__name__}: {value}): please report it"
        )
        return [joined([])]
    return [TaskResult((lost_record(bundle[0], *why(value)),), Errors(), Timing(), 0, 0.0)]


def _summed_up(tries: Sequence[TaskResult]) -> TaskResult:
    """Return the result of a case that ended its worker in the first of these tries.

    Where it did not in every one, the record says that, and in how many.
    """
    first = tries[0]
    ended = sum(r.verdict is Verdict.CRASHED for one in tries for r in one.records)
    if ended == len(tries):
        return first
    (record,) = first.records
    head, colon, words = record.message.partition(": ")
    message = f"{head} in {ended} of {len(tries)} runs{colon}{words}"
    return replace(first, records=(replace(record, kind=NOT_DETERMINISTIC, message=message),))

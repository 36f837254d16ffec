"""Tasks in workers: splitting after a crash, and the cases that are blamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Task, TaskResult, run_tasks
from conformance.catalog import Cell
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import own_words
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.limits import Limits
from conformance.pipeline.batch import REPEATS
from conformance.verdict import Repeats, Verdict
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.workers import Workers

TIMEOUT = 60.0
TASKS = [Task(Cell("add", ELEMENT_TYPES[of], "reference"), 0, 0, 3) for of in ("f32", "si8", "i1")]


def outcomes(
    answer: Callable[[tuple[Task, ...]], Any], apart: Iterable[Task] = (), **given: Any
) -> tuple[dict[Task, TaskResult], list[str], Workers]:
    """Return the outcome of one batch of all tasks, the notes, and the calls of the workers."""
    workers, noticed = Workers(lambda call: answer(call.arguments[0])), list[str]()
    crashing = {task.cell for task in apart}
    runner = TaskRunner(Limits(TIMEOUT), noticed.append, crashing=crashing, **given)
    done = runner.run(workers, [tuple(TASKS)])  # type: ignore[arg-type]
    return dict(one for one in done if one is not None), noticed, workers


def calls_of(workers: Workers) -> list[tuple[tuple[Task, ...], float | None]]:
    """Return the tasks and the time limit of each call."""
    return [(call.arguments[0], call.timeout) for call in workers.made]


def test_only_crashing_case_of_batch_is_blamed() -> None:
    def answer(tasks: tuple[Task, ...]) -> Any:
        guilty = any(task.cell == TASKS[1].cell and 2 in task for task in tasks)
        return WorkerCrash("SIGSEGV") if guilty else run_tasks(tasks)

    results, noticed, workers = outcomes(answer)
    assert not noticed
    assert {task: [r.verdict for r in results[task].records] for task in TASKS} == {
        TASKS[0]: [Verdict.PASS] * 3,
        TASKS[1]: [Verdict.PASS, Verdict.PASS, Verdict.CRASHED],
        TASKS[2]: [Verdict.PASS] * 3,
    }
    assert calls_of(workers) == [
        (tuple(TASKS), TIMEOUT),
        *(((task,), TIMEOUT) for task in TASKS),
        *(((single,), TIMEOUT / 3) for single in TASKS[1].singles()),
        *[((TASKS[1].singles()[2],), TIMEOUT / 3)] * REPEATS,
    ]


@pytest.mark.parametrize("words", ["", "out of luck: twice"])
def test_a_case_that_does_not_end_its_worker_every_time_is_not_deterministic(words: str) -> None:
    guilty, left = TASKS[1].singles()[2], [True, False, True, False]

    def answer(tasks: tuple[Task, ...]) -> Any:
        whole = len(tasks) > 1 or TASKS[1] in tasks
        dies = whole or (tasks == (guilty,) and left.pop(0))
        return WorkerCrash("SIGSEGV", words) if dies else run_tasks(tasks)

    results, noticed, _ = outcomes(answer)
    assert (left, noticed) == ([], [])
    record = results[TASKS[1]].records[2]
    assert (record.verdict, record.kind) == (Verdict.CRASHED, NOT_DETERMINISTIC)
    said = f": {words}" if words else ""
    assert record.message == f"the process ended with SIGSEGV in 2 of 4 runs{said}"
    assert own_words(record.message) == words
    assert record.repeats == Repeats(2, 4, ("abnormal exit",))
    assert record.is_new_failure


def test_a_worker_ends_after_cases_that_may_have_written_to_memory_of_others() -> None:
    workers = Workers(lambda call: run_tasks(call.arguments[0]))
    bundles = [(task,) for task in TASKS]
    cells = {TASKS[1].cell}
    runner = TaskRunner(Limits(TIMEOUT), print, overwriting=cells)
    done = runner.run(workers, bundles)  # type: ignore[arg-type]
    assert [one for one in done if one is not None]
    assert [call.ends_worker for call in workers.made] == [False, True, False]


def test_a_case_that_is_known_to_end_its_worker_is_not_run_again() -> None:
    def answer(tasks: tuple[Task, ...]) -> Any:
        return (
            WorkerCrash("SIGSEGV")
            if any(one.cell == TASKS[1].cell for one in tasks)
            else run_tasks(tasks)
        )

    known = outcomes(answer, apart=[TASKS[1]], is_known=lambda one: "SIGABRT" not in one.message)
    new = outcomes(answer, apart=[TASKS[1]])
    for (results, _, workers), runs in ((known, 1), (new, 1 + REPEATS)):
        assert [record.verdict for record in results[TASKS[1]].records] == [Verdict.CRASHED] * 3
        alone = [tasks for tasks, _ in calls_of(workers) if len(tasks) == len(tasks[0]) == 1]
        assert {alone.count(tasks) for tasks in alone} == {runs}


def test_crash_of_whole_batch_only_is_recorded() -> None:
    answer = lambda ts: WorkerCrash("SIGSEGV", "so it is") if len(ts) > 1 else run_tasks(ts)  # noqa: E731
    results, noticed, _ = outcomes(answer)
    assert set(results) == set(TASKS)
    (line,) = noticed
    assert line == (
        "lost batch on reference: add f32, si8, i1, 9 cases: crashed in 4 of 4 runs, though none "
        "of the cases fails in isolation: the process ended with SIGSEGV: so it is"
    )


@pytest.mark.parametrize(("second", "failed"), [(None, 1), (WorkerTimeout(20.0), 4)])
def test_time_outs_are_repeated(second: WorkerTimeout | None, failed: int) -> None:
    guilty, first = TASKS[1].singles()[1], [WorkerTimeout(20.0)]

    def answer(tasks: tuple[Task, ...]) -> Any:
        if tasks != (guilty,):
            whole = any(task.cell == guilty.cell and 1 in task for task in tasks)
            return WorkerTimeout(60.0) if whole else run_tasks(tasks)
        return first.pop() if first else second or run_tasks(tasks)

    results, noticed, _ = outcomes(answer)
    record = results[TASKS[1]].records[1]
    assert record.verdict is Verdict.TIMED_OUT
    assert noticed == []
    if failed == 1:
        assert record.kind == NOT_DETERMINISTIC
        assert record.message == "no answer within 20 s in 1 of 4 runs"
        assert own_words(record.message) == ""
    else:
        assert (record.kind, record.repeats) == ("no answer", None)


def test_a_case_over_which_the_harness_raises_has_no_record_and_the_others_have_theirs() -> None:
    def answer(tasks: tuple[Task, ...]) -> Any:
        broken = any(task.cell == TASKS[1].cell and 1 in task for task in tasks)
        return KeyError("x") if broken else run_tasks(tasks)

    results, noticed, _ = outcomes(answer)
    assert set(results) == set(TASKS)
    assert [record.index for record in results[TASKS[1]].records] == [0, 2]
    (line,) = noticed
    assert line.startswith("defect of hlo-conformance in ")
    assert "KeyError: 'x'" in line

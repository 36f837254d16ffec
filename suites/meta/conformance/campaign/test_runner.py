"""Runs and their tasks: verdicts, crashes, resuming, known failures."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.campaign import runner
from conformance.campaign.planning import PROFILES, Options, plan
from conformance.campaign.progress import Tally, Watcher
from conformance.campaign.runner import run
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Task, TaskResult, join_results, run_tasks
from conformance.catalog import Cell
from conformance.errors import UsageError
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import own_words
from conformance.gate.classes import NOT_DETERMINISTIC, ONLY_IN_BATCH
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.limits import Limits
from conformance.pipeline.batch import REPEATS, Batcher
from conformance.pipeline.confirmation import JudgementCache, conclude
from conformance.pipeline.items import CellItem, ItemAnswer
from conformance.pipeline.records import judged_result
from conformance.results.inputs import unpack_inputs
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import load
from conformance.results.versions import build
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Errors, Repeats, Timing, Verdict
from generators.cells.plan import case
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.one_task import run_task
from suites.meta.support.workers import Workers

F32 = ELEMENT_TYPES["f32"]


def options(out: Path, fault: str = "", **given) -> Options:
    backend = f"reference:{fault}" if fault else "reference"
    chosen = Options(out, (backend,), ops=("add",), element_types=("f32",), profile="smoke", jobs=2)
    return replace(chosen, **given)


# One task, in this process.


def has_inputs(number: int) -> bool:
    """Return whether a case has several input sets, and results that can be wrong."""
    made = case("add", F32, 0, number)
    return len(made.inputs) > 1 and all(0 not in of.shape for of in made.program.main.result_types)


START = next(n for n in range(60) if all(has_inputs(n + k) for k in range(3)))
"""The first of three such cases in a row."""


@pytest.mark.parametrize(
    ("fault", "verdict", "kind"),
    [
        ("right", Verdict.PASS, ""),
        ("noisy", Verdict.PASS, ""),
        ("one_wrong_element", Verdict.DIVERGENT, None),
        ("missing_result", Verdict.DIVERGENT, "wrong type"),
        ("wrong_shape", Verdict.DIVERGENT, "wrong type"),
        ("wrong_type", Verdict.DIVERGENT, "wrong type"),
        ("flaky", Verdict.DIVERGENT, NOT_DETERMINISTIC),
        ("batch_only", Verdict.DIVERGENT, ONLY_IN_BATCH),
        ("reject", Verdict.REJECTED, "refused as invalid"),
        ("unsupported", Verdict.UNSUPPORTED, ""),
        ("internal_error", Verdict.CRASHED, "internal error"),
        ("runtime_error", Verdict.CRASHED, "internal error"),
        ("python_error", Verdict.CRASHED, "internal error"),
    ],
)
def test_a_task_finds_the_verdict(fault: str, verdict: Verdict, kind: str | None) -> None:
    result = run_task(Task(Cell("add", F32, f"reference:{fault}"), 0, START, START + 3))
    assert [record.index for record in result.records] == [START, START + 1, START + 2]
    for record in result.records:
        assert record.verdict is verdict, record.message
        assert record.kind == (record.kind if kind is None else kind)
        assert (record.detail is not None) == verdict.fails
        assert fault != "flaky" or re.search(
            "wrong in ([12] of 4|[34] of 10) runs$", record.message
        )
        assert record.pairs > 0 or verdict in (
            Verdict.REJECTED, Verdict.UNSUPPORTED, Verdict.CRASHED,
        )  # fmt: skip


SORTED_BY_ROWS = """
func.func @main(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = -2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
"""
UNSORTED = EntryPrediction("mine", ("sort",), ("*",), "return %inputs : $T", unpredictable=True)


@pytest.mark.parametrize(
    ("given_back", "kind"), [([3, 1, 2], UNSORTED.label), ([2, 3, 1], NOT_DETERMINISTIC)]
)
def test_result_read_from_memory_has_its_class_if_refused_in_isolation(
    given_back: list[int], kind: str
) -> None:
    """The comparator is not implemented by the backend, which skipped it in the batch."""
    program = parse_module(SORTED_BY_ROWS)
    inputs = (np.array([[3], [1], [2]], np.float32),)
    cell = Cell("sort", F32, "cpu")
    prepared = CellItem(0, program, [inputs], [evaluate(program, inputs)], cell)
    batcher = Batcher(open_session("reference:unsupported"))
    wrong = [[np.array(given_back, np.float32).reshape(3, 1)]]
    with in_force([UNSORTED]):
        record, *_ = conclude(prepared, ItemAnswer(wrong, [prepared, prepared]), batcher)
    assert (record.verdict, record.kind) == (Verdict.DIVERGENT, kind)


@pytest.mark.slow
def test_records_do_not_depend_on_how_cases_are_split() -> None:
    cell = Cell("add", F32, "reference:flush_to_zero")
    whole = run_task(Task(cell, 3, 0, 40))
    assert {record.verdict for record in whole.records} == {Verdict.PASS, Verdict.FLUSHED}
    apart = join_results(
        [run_task(Task(cell, 3, start, start + 8)) for start in (32, 8, 0, 24, 16)]
    )
    assert apart.records == whole.records
    assert apart.errors == whole.errors
    singles = join_results([run_task(task) for task in Task(cell, 3, 0, 40).singles()])
    assert singles.records == whole.records


# Whole runs.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "verdict", "kind"),
    [
        ("abort", Verdict.CRASHED, "abnormal exit"),
        ("abort_on_compile", Verdict.CRASHED, "abnormal exit"),
        ("hang", Verdict.TIMED_OUT, "no answer"),
        ("allocate", Verdict.CRASHED, "out of memory"),
    ],
)
def test_crash_hang_and_memory_exhaustion_have_verdicts(
    tmp_path: Path, fault: str, verdict: Verdict, kind: str
) -> None:
    timeout = 3.0 if fault == "hang" else 60.0
    done = run(options(tmp_path, fault, limits=Limits(timeout, 1 << 29)))
    assert [(r.verdict, r.kind) for r in done.records] == [(verdict, kind)] * PROFILES["smoke"]
    assert done.exit_code == 1
    assert all(r.detail is not None and "stablehlo.add" in r.detail.program for r in done.records)


@pytest.mark.slow
def test_only_the_cases_that_crash_are_blamed(tmp_path: Path) -> None:
    done = run(options(tmp_path, "abort_on_nan", profile="standard"))
    assert len(done.records) == PROFILES["standard"]
    for record in done.records:
        made = case("add", F32, 0, record.index)
        has_nan = any(
            np.isnan(array).any()
            for recipe in made.inputs
            for array in materialise(made.program, recipe)
        )
        assert record.verdict is (Verdict.CRASHED if has_nan else Verdict.PASS)
    assert {record.verdict for record in done.records} == {Verdict.CRASHED, Verdict.PASS}


def test_run_without_tested_case_exits_with_4(tmp_path: Path) -> None:
    assert run(options(tmp_path, "unsupported")).exit_code == 4


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    run(options(out))
    return out


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed 0 there and 1 here"),
        ({"ops": ("abs",)}, "op add there and abs here"),
        ({"element_types": ()}, "element type f32 there and all here"),
        ({"shard": (1, 2)}, "shard 1/1 there and 1/2 here"),
        ({"backends": ("reference:right",)}, "backend reference there and reference:right here"),
        ({"profile": "deep"}, "profile smoke .2 cases a cell. there and deep .100"),
    ],
)
def test_a_folder_of_another_run_is_refused(finished_run: Path, change: dict, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        run(options(finished_run, **change))
    assert len(load(finished_run).records) == PROFILES["smoke"]


@pytest.mark.slow
@pytest.mark.parametrize("before", ["0123456789ab", None])
def test_run_of_other_build_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(runner, "build", lambda: before)
        run(options(tmp_path))
    kept = load(tmp_path)
    told = f"build of hlo-conformance {before or 'unknown'} there and {build()} here"
    with pytest.raises(UsageError, match=rf"{told}: choose another --out, or .* --fresh"):
        run(options(tmp_path))
    assert load(tmp_path).records == kept.records


@pytest.mark.slow
def test_a_fresh_start_replaces_another_run(tmp_path: Path) -> None:
    run(options(tmp_path))
    assert run(options(tmp_path, seed=1, fresh=True)).seed == 1


class Interrupting(Watcher):
    """A watcher that interrupts the run, as a user does, once something is stored."""

    def update(self, tally: Tally) -> None:
        if tally.pairs:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_interrupted_run_is_resumed(tmp_path: Path) -> None:
    given = options(tmp_path / "a", ops=("a*",), jobs=1)
    with pytest.raises(KeyboardInterrupt):
        run(given, Interrupting())
    kept = load(tmp_path / "a").records
    assert kept
    resumed = run(given)
    assert resumed.records == run(replace(given, out=tmp_path / "b", jobs=2)).records
    assert len(resumed.records) > len(kept)


@pytest.mark.slow
def test_killed_run_resumes_to_the_same_records(tmp_path: Path) -> None:
    given = options(tmp_path / "killed", "flush_to_zero", ops=("[a-c]*",), jobs=1)
    command = [
        sys.executable, "-m", "conformance", "run", "--backend", "reference:flush_to_zero",
        "--op", "[a-c]*", "--element-type", "f32", "--profile", "smoke", "--jobs", "1",
        "--out", str(given.out),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and count_stored_tasks(given.out) < 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    before = count_stored_tasks(given.out)
    assert 2 <= before < len(plan(given).tasks)
    resumed = run(replace(given, jobs=2))
    whole = run(replace(given, out=tmp_path / "whole"))
    assert resumed.records == whole.records
    assert resumed.errors == whole.errors
    assert {record.verdict for record in whole.records} >= {Verdict.PASS, Verdict.FLUSHED}


def count_stored_tasks(out: Path) -> int:
    if not (out / FILE_NAME).exists():
        return 0
    with Store(out / FILE_NAME, read_only=True) as store:
        return len(store.finished_tasks())


KNOWN = """
[[known]]
id = "swapped"
op = "subtract"
reason = "lhs and rhs are swapped."
[[known]]
id = "not-met"
op = "subtract"
kinds = ["NaN"]
reason = "Nothing shows it."
"""


def test_expectations_make_failures_known(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    bare = run(given)
    assert bare.exit_code == 1
    known = run(replace(given, expectations=str(tmp_path / "known.toml")))
    assert known.exit_code == 0
    assert {r.known for r in known.records if r.verdict.fails} == {"swapped"}
    assert known.stale == ()
    assert known.expectations["swapped"].reason == "lhs and rhs are swapped."
    assert run(given).records == bare.records


def test_all_failures_of_case_are_stored_with_their_inputs(tmp_path: Path) -> None:
    """A wrong element in one input set, and a NaN element in another input set: both are reported,
    and an expectation of either does not match the other.
    """
    cell = Cell("add", F32, "reference")
    made = case("add", F32, 0, START)
    inputs = [materialise(made.program, recipe) for recipe in made.inputs]
    expected = [evaluate(made.program, one) for one in inputs]
    prepared = CellItem(0, made.program, inputs, expected, cell)
    results = [[array.copy() for array in one] for one in expected]
    results[0][0].reshape(-1)[0] = 12345.0
    results[1][0].reshape(-1)[-1] = np.nan
    expected[1][0].reshape(-1)[-1] = 1.0
    judged = JudgementCache(prepared, Batcher(open_session("reference"))).of(results)
    record, *_ = judged_result(prepared, judged)
    assert {one.kind for one in record.failing} == {"wrong value", "NaN"}
    kept = {one.kind: unpack_inputs(one.inputs) for one in record.failing}
    for kind, turn in (("wrong value", 0), ("NaN", 1)):
        pairs = zip(kept[kind], inputs[turn], strict=True)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    with Store(tmp_path / FILE_NAME) as store:
        store.add_task("one", ("add", "f32", "reference"), [record], Errors(), Timing())
        assert store.records() == [record]


@pytest.mark.slow
def test_an_error_of_the_harness_over_a_case_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other cases have verdicts, and a baseline does not excuse cases that were not judged."""
    right = run(options(tmp_path / "right", "right"))
    assert right.exit_code == 0
    do = TaskRunner.run

    def do_with_defect(self: TaskRunner, *given: Any) -> Iterator[Any]:
        self.notice("defect of hlo-conformance in add:f32")
        return do(self, *given)

    monkeypatch.setattr(TaskRunner, "run", do_with_defect)
    broken = run(options(tmp_path / "broken", "right"))
    assert broken.exit_code == 1
    assert broken.records == right.records
    assert broken.incidents == ("defect of hlo-conformance in add:f32",)


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
            if any(task.cell == TASKS[1].cell for task in tasks)
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


def test_a_case_whose_worker_had_no_processor_is_run_again_and_remarked_upon() -> None:
    guilty, left = TASKS[1].singles()[1], [WorkerTimeout(20.0, waited=15.0)]

    def answer(tasks: tuple[Task, ...]) -> Any:
        if tasks == (guilty,):
            return left.pop() if left else run_tasks(tasks)
        whole = any(task.cell == guilty.cell and 1 in task for task in tasks)
        return WorkerTimeout(60.0) if whole else run_tasks(tasks)

    remarks: list[str] = []
    results, _, workers = outcomes(answer, remark=remarks.append)
    assert results[TASKS[1]].records[1].verdict is Verdict.PASS
    (remark,) = remarks
    assert remark.startswith("add[si8]@reference:1: no answer within 20 s (15 s without a proc")
    singles = [tasks for tasks, _ in calls_of(workers) if len(tasks) == len(tasks[0]) == 1]
    assert singles.count((guilty,)) == 2
    assert singles[-1] == (guilty,)

"""Plans: which cells and tasks a run has; cells of near misses; a recorded case run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign import planning
from conformance.campaign.planning import (
    CASES_PER_MODULE,
    MISSES_PER_ID,
    PROFILES,
    Options,
    make_batches,
    plan,
    plan_of,
)
from conformance.campaign.recorded import RecordedCase, Replay
from conformance.campaign.replay import find, replay
from conformance.campaign.rerun import crash_replay, rerun
from conformance.campaign.runner import run
from conformance.campaign.tasks import Task
from conformance.catalog import CATALOG, Cell
from conformance.errors import UsageError
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID
from generators.cells.columns import miss_count, ordered_misses
from generators.cells.plan import coverage_report, valid_columns
from reference.ir.types import element_type
from suites.meta.support.one_task import run_task


def test_shards_are_a_partition(tmp_path: Path) -> None:
    given = Options(tmp_path, ("cpu",), ops=("a*", "compare"), profile="smoke")
    whole = plan(given)
    parts = [plan(replace(given, shard=(number, 3))) for number in (1, 2, 3)]
    assert sorted(t.id for part in parts for t in part.tasks) == sorted(t.id for t in whole.tasks)
    sizes = [len(part.cells) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for part in parts:
        assert len(part.cells) + len(part.filtered) == len(whole.cells) + len(whole.filtered)
        assert len({cell.element_type for cell in part.cells}) > 10


def test_tasks_cover_the_cases_of_a_cell(tmp_path: Path) -> None:
    tasks = plan(Options(tmp_path, ops=("convert",), element_types=("f32",), profile="deep")).tasks
    covered = [index for task in tasks for index in range(task.start, task.stop)]
    assert covered == list(range(planning.cases_of(tasks[0].cell.row, "deep")))
    assert len(tasks) > 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ops": ("ad",)}, "unknown op 'ad'; did you mean add"),
        ({"ops": ("expnential",)}, "did you mean exponential"),
        ({"ops": ("zzz",)}, "known: abs, add"),
        ({"element_types": ("f31",)}, "unknown element type 'f31'; did you mean"),
        ({"backends": ("cqu",)}, "unknown backend 'cqu'; did you mean cpu"),
        ({"backends": ("gpu:x",)}, "unknown backend"),
        ({"backends": ("cpu:AVX3",)}, "unknown instruction set 'AVX3'; did you mean AVX"),
        ({"backends": ("reference:x",)}, "unknown fault 'x'"),
        ({"profile": "depp"}, "did you mean deep"),
        ({"shard": (0, 2)}, "shard 0/2"),
    ],
)
def test_unknown_op_type_or_shard_is_named(tmp_path: Path, change: dict, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(replace(Options(tmp_path), **change))
    assert said in str(caught.value)


def test_standard_cell_ends_when_coverage_is_complete() -> None:
    op = "slice"
    most = planning.cases_of(CATALOG[op], "standard")
    columns = [column.name for column in valid_columns(op)]
    counts = {}
    for column in valid_columns(op):
        tasks = plan_of(Cell(op, column, "cpu"), "standard", 0)
        assert [task.start for task in tasks] == [0]
        counts[column.name] = tasks[-1].stop
    assert PROFILES["standard"] == min(counts.values()) < max(counts.values()) < most
    whole = coverage_report(op, 0, dict.fromkeys(columns, range(most)))
    assert coverage_report(op, 0, {name: range(count) for name, count in counts.items()}) == whole


def test_batches_contain_every_task_once_and_fill_modules(tmp_path: Path) -> None:
    tasks = plan(Options(tmp_path, ops=("a*", "scatter"), profile="standard")).tasks
    apart = {
        task.cell for task in tasks
        if task.cell.op == "atan2" and task.cell.element_type.name < "f"
    }  # fmt: skip
    found = [*make_batches(tasks, apart)]
    in_batches = [task for bundle in found for task in bundle]
    assert len(in_batches) == len(tasks)
    assert {*in_batches} == {*tasks}
    for bundle in found:
        assert len({(task.cell.op, task.cell.backend) for task in bundle}) == 1
        assert sum(map(len, bundle)) <= CASES_PER_MODULE or len(bundle) == 1
        alone = any(task.cell in apart or task.cell.element_type is INVALID for task in bundle)
        assert len(bundle) == 1 or not alone
    assert apart
    assert max(map(len, found)) == CASES_PER_MODULE // PROFILES["standard"]


@pytest.mark.parametrize("profile", MISSES_PER_ID)
def test_every_profile_has_a_near_miss_of_every_id(profile) -> None:
    for op in ("pad", "gather", "while", "convolution"):
        tasks = plan_of(Cell(op, INVALID, "cpu"), profile, 0)
        count = sum(map(len, tasks))
        misses = ordered_misses(op)
        assert {id_ for id_, _ in misses[:count]} == {id_ for id_, _ in misses}
        assert count == miss_count(op, MISSES_PER_ID[profile])


@pytest.mark.parametrize("op", ["abs", "pad", "reduce", "sort", "while", "dot_general"])
def test_a_right_backend_refuses_and_a_careless_one_accepts(op) -> None:
    count = min(10, len(ordered_misses(op)))
    right = run_task(Task(Cell(op, INVALID, "reference"), 0, 0, count))
    assert {record.verdict for record in right.records} == {Verdict.PASS}
    careless = run_task(Task(Cell(op, INVALID, "reference:accepts_invalid"), 0, 0, count))
    assert [record.verdict for record in careless.records] == [Verdict.ACCEPTED] * count
    assert [record.kind for record in careless.records] == [
        id_ for id_, _ in ordered_misses(op)[:count]
    ]
    assert all(record.detail.program for record in careless.records)


def test_accepted_programs_are_stored_and_replayed(tmp_path) -> None:
    backend = "reference:accepts_invalid"
    made = run(
        Options(
            out=tmp_path,
            backends=(backend,),
            ops=("pad",),
            element_types=("invalid",),
            profile="smoke",
            jobs=1,
            expectations="none",
        )
    )
    assert {record.verdict for record in made.records} == {Verdict.ACCEPTED}
    case = find(tmp_path, f"pad-invalid-{backend}-0")
    assert case.record == made.records[0]
    again = replay(case)
    assert (again.record.verdict, again.record.kind) == (Verdict.ACCEPTED, case.record.kind)
    assert "stablehlo.pad" in again.program


FAULTY = "reference:tanh_clamped"


def recorded_case(op: str, of: str, backend: str, index: int = 0, **given) -> RecordedCase:
    record = Record(op, of, backend, index, "0", Verdict.DIVERGENT, **given)
    return RecordedCase(record, 0, "smoke", backend)


def failing_record() -> Record:
    task = Task(Cell("tanh", element_type("f64"), FAULTY), 0, 0, 6)
    return next(record for record in run_task(task).records if record.verdict.fails)


def test_case_that_failed_fails_again_with_its_arrays() -> None:
    record = failing_record()
    found = rerun(RecordedCase(record, 0, "smoke", FAULTY), (), generic=True)
    assert (found.record.verdict, found.record.kind) == (record.verdict, record.kind)
    assert "stablehlo.tanh" in found.program
    ((name, of, _),) = found.arguments
    assert name
    assert of.endswith("f64>")
    ((result_type, expected, actual),) = found.results
    assert result_type.startswith("tensor<")
    assert expected != actual
    assert found.unit == "ulp"


def test_failure_of_a_batch_is_run_with_its_batch() -> None:
    found = rerun(recorded_case("add", "f32", "reference", 1, kind=ONLY_IN_BATCH), (), generic=True)
    assert (found.record.element_type, found.record.index) == ("f32", 1)
    assert found.record.verdict is Verdict.PASS
    assert found.arguments == ()


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [(WorkerCrash("SIGSEGV"), Verdict.CRASHED), (WorkerTimeout(60.0), Verdict.TIMED_OUT)],
)
def test_replay_of_a_crash_runs_nothing(
    reason: WorkerCrash | WorkerTimeout, verdict: Verdict
) -> None:
    found = crash_replay(recorded_case("add", "f32", "reference"), reason)
    assert isinstance(found, Replay)
    assert found.record.verdict is verdict
    assert found.results == ()

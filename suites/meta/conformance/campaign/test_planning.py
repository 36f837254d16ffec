"""Plans: which cells and tasks a run has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign import planning
from conformance.campaign.planning import (
    CASES_PER_MODULE,
    PROFILES,
    Options,
    drop_unneeded_cases,
    make_batches,
    plan,
    plan_of,
)
from conformance.campaign.tasks import Task, cases_of
from conformance.catalog import CATALOG, Cell, cells
from conformance.errors import UsageError
from generators.case.columns import INVALID
from generators.cells.plan import coverage, coverage_report, valid_columns
from reference.ir.types import ELEMENT_TYPES


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


def test_everything_is_planned_by_default(tmp_path: Path) -> None:
    assert list(plan(Options(tmp_path)).cells) == cells()
    assert plan(Options(tmp_path)).filtered == ()


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


@pytest.mark.parametrize(
    ("op", "smoke", "standard"),
    [
        ("add", 2, 8),
        ("Add", 1, 4),
        ("pad", 2, 11),
        ("scatter", 7, 48),
        ("dot", 5, 8),  # of few columns
        ("Dot", 1, 4),
    ],
)
def test_the_fastest_profile_has_one_case_more_for_each_unit_of_weight(
    op: str, smoke: int, standard: int, tmp_path: Path
) -> None:
    def cases(profile: str) -> int:
        given = Options(tmp_path, ("reference",), (op,), ("f32",), profile)
        return sum(len(task) for task in plan(given).tasks)

    assert (cases("smoke"), cases("standard")) == (smoke, standard)


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


def test_tasks_without_a_needed_case_are_left_out() -> None:
    cell = Cell("convert", ELEMENT_TYPES["f8E8M0FNU"], "cpu")
    drafts = plan(Options(Path(), ops=("convert",), element_types=("f8E8M0FNU",))).tasks
    assert [(task.start, task.stop) for task in drafts] == [(0, 32), (32, 48)]
    sparse = Task(cell, 0, 40, 48)
    assert len(drop_unneeded_cases(sparse, "standard")) == 0
    assert drop_unneeded_cases(sparse, "deep") == sparse
    assert all(len(task) for task in plan_of(cell, "standard", 0))


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


def test_cells_apart_end_no_batch(tmp_path: Path) -> None:
    tasks = [
        task
        for task in plan(Options(tmp_path, ops=("add", "if"), profile="smoke")).tasks
        if task.cell.element_type is not INVALID
    ]
    middle = {task.cell for task in tasks if task.cell.element_type.name.startswith("f6")}
    rest = [task for task in tasks if task.cell not in middle]
    found = [*make_batches(tasks, middle)]
    assert middle
    assert [one for one in found if one[0].cell not in middle] == [*make_batches(rest)]
    assert {one for one in found if one[0].cell in middle} == {
        (task,) for task in tasks if task.cell in middle
    }


def test_planned_task_has_the_cases_of_the_whole_plan() -> None:
    task = Task(Cell("compare", ELEMENT_TYPES["f32"], "reference"), 3, 2, 7)
    planned = task.plan_cases()
    assert planned == task
    assert planned.plans
    coverage.cache_clear()
    assert cases_of(planned) == cases_of(task)
    coverage.cache_clear()
    made = [case for single in planned.singles() for case in cases_of(single)]
    assert made == cases_of(task)

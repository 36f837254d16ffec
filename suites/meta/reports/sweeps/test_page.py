"""The page of a sweep: its headline, texts, pictures and tables, and unreadable folders."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from conformance.errors import UsageError
from conformance.outputs.sweep import SweptFunction
from conformance.results.store import FILE_NAME as RESULTS
from conformance.sweep.saving import AXIS, SUMMARY
from conformance.verdict import Verdict
from reports.sweeps.page import BESIDE_A_RUN, PAGE, html, read, write
from reports.sweeps.tables import error_matrix, failures_of
from suites.meta.reports.sweeps.made_up import function, point, result_class, sweep

GOOD = function()


@pytest.mark.parametrize(
    ("functions", "headline"),
    [
        ([GOOD], "No unknown divergence on cpu in 1 function"),
        ([GOOD, function(op="exponential")], "No unknown divergence on cpu in 2 functions"),
        ([function(state="unsupported")], "Nothing was swept on cpu"),
        ([function(classes=(result_class(Verdict.DIVERGENT),))], "1 new class of failures on cpu"),
        ([function(classes=(result_class(Verdict.DIVERGENT, known="k"),))],
         "No unknown divergence on cpu in 1 function"),
    ],
)  # fmt: skip
def test_the_headline_says_whether_anything_new_failed(
    functions: list[object], headline: str
) -> None:
    assert headline in html(sweep(*functions), {})  # type: ignore[arg-type]


def test_a_part_of_a_sweep_is_not_all_values() -> None:
    page = html(sweep(GOOD, shard="1/4"), {})
    assert "all 100" not in page
    assert "1/4" in page


def test_a_sweep_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / SUMMARY).write_bytes(msgspec.json.encode(sweep(GOOD)))
    (tmp_path / AXIS).write_text(json.dumps({"add f32": [[1.0, 0.5]]}))
    assert read(tmp_path) == sweep(GOOD)
    assert write(read(tmp_path), tmp_path, tmp_path / "new") == tmp_path / "new" / PAGE
    assert "<polyline" in (tmp_path / "new" / PAGE).read_text("utf-8")
    (tmp_path / "new" / RESULTS).touch()
    assert write(read(tmp_path), tmp_path, tmp_path / "new") == tmp_path / "new" / BESIDE_A_RUN


def test_folders_that_hold_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="finish the sweep by its command"):
        read(tmp_path)
    (tmp_path / SUMMARY).write_text("{}")
    with pytest.raises(
        UsageError, match=r"not written by `sweep` of this version: .* with --fresh"
    ):
        read(tmp_path)
    with pytest.raises(UsageError, match="cannot write"):
        write(sweep(GOOD), tmp_path, tmp_path)


ADD, EXP = function(op="add"), function(op="exponential")


def test_a_cell_is_exhaustive_if_all_arguments_of_a_whole_sweep_were_tried() -> None:
    def exhaustive(one: SweptFunction, is_whole: bool) -> bool:
        _, ((_, (cell,)),) = error_matrix([(one, is_whole)])
        assert cell is not None
        return cell.is_exhaustive

    assert exhaustive(ADD, True)
    assert not exhaustive(ADD, False)
    assert not exhaustive(function(arguments="sample"), True)
    assert not exhaustive(function(values=99), True)


def test_new_classes_of_failures_come_first() -> None:
    known = result_class(Verdict.DIVERGENT, known="entry")
    new = result_class(Verdict.INACCURATE, example=point("2.5"))
    passed = result_class(Verdict.PASS)
    found = failures_of([function(classes=(known, passed, new))])
    assert [one.is_new for one in found] == [True, False]
    assert found[0].example == "at 2.5: 1 expected, 0 computed"
    assert found[1].example == "a message"

"""Comparisons among backends and among runs."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from conformance.catalog import CATALOG
from conformance.errors import UsageError
from conformance.results.agreement import unspecified_cases
from conformance.results.differences import REFERENCE, differences
from conformance.results.history import (
    History,
    PastRun,
    history_json,
    history_lines,
    load_history,
    past_run,
)
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData, load, write_json
from conformance.verdict import Detail, Element, Errors, Record, Timing, Verdict
from suites.meta.support import synthetic_run as synthetic
from suites.meta.support.synthetic_run import failure, run_of


def element(actual: str, index: tuple[int, ...] = (0,)) -> Element:
    return Element(0, index, "7", "0x07", actual, f"0x{int(actual):02X}", None, ())


def unspecified_record(backend: str, *elements: Element, index: int = 0) -> Record:
    detail = Detail("program", b"", len(elements), 4, elements)
    if not elements:
        return Record("divide", "ui8", backend, index, "0" * 16, Verdict.PASS)
    verdict = Verdict.UNSPECIFIED
    return Record("divide", "ui8", backend, index, "0" * 16, verdict, "by zero", detail=detail)


def unspecified_of(*records: Record):
    return unspecified_cases(synthetic.run_of(list(records), {}, [("divide", "ui8", "cpu")]))


def test_backends_that_give_the_same_agree() -> None:
    (case,) = unspecified_of(
        unspecified_record("cpu", element("1")), unspecified_record("gpu", element("1"))
    )
    assert (case.agree, case.kind) == (True, "by zero")
    assert case.answers == (("cpu", "1"), ("gpu", "1"))


NAMES = ("cpu", "gpu", "plugin:x", "tpu")


def passing_case(backend: str, index: int) -> Record:
    return synthetic.passes(("add", "f32", backend), index, CATALOG["add"], random.Random(1))


def failing_case(backend: str, index: int, **changes) -> Record:
    return synthetic.failure(("add", "f32", backend), index, Verdict.DIVERGENT, **changes)


def compare_records(*records: Record):
    cells = list(dict.fromkeys((r.op, r.element_type, r.backend) for r in records))
    return differences(synthetic.run_of(list(records), {}, cells, backends=NAMES))


def test_a_backend_that_differs_from_all_others_is_named():
    found = compare_records(
        passing_case("cpu", 0), failing_case("gpu", 0), passing_case("plugin:x", 0)
    )
    assert (found.compared, found.lone_backends) == (1, {"gpu": 1})
    (case,) = found.cases
    assert (case.lone_backend, case.fails, case.is_of_support) == ("gpu", True, False)
    assert [answer.verdict for answer in case.answers.values()] == [
        Verdict.PASS, Verdict.DIVERGENT, Verdict.PASS,
    ]  # fmt: skip


def test_the_reference_votes_with_those_that_pass() -> None:
    (two,) = compare_records(passing_case("cpu", 0), failing_case("gpu", 0)).cases
    (agree,) = compare_records(*(failing_case(name, 0) for name in NAMES)).cases
    (pairs,) = compare_records(
        *(passing_case(name, 0) for name in NAMES[:2]), *(failing_case(n, 0) for n in NAMES[2:])
    ).cases
    assert [one.lone_backend for one in (two, agree, pairs)] == ["gpu", REFERENCE, ""]
    assert compare_records(*(passing_case(name, 1) for name in NAMES)).cases == ()


def test_a_backend_without_an_answer_and_an_unspecified_result_have_no_vote() -> None:
    unsupported = replace(passing_case("cpu", 0), verdict=Verdict.UNSUPPORTED)
    found = compare_records(unsupported, passing_case("gpu", 0), failing_case("tpu", 0))
    assert found.lone_backends == {"tpu": 1}
    found = compare_records(unsupported, passing_case("gpu", 0), passing_case("tpu", 0))
    assert (found.lone_backends, found.cases[0].is_of_support) == ({}, True)
    open_ = replace(failing_case("cpu", 0), verdict=Verdict.UNSPECIFIED)
    (case,) = compare_records(open_, replace(open_, backend="gpu"), passing_case("tpu", 0)).cases
    assert case.lone_backend == "tpu"


def test_another_value_of_the_same_class_differs_and_another_program_is_not_compared() -> None:
    one = failing_case("cpu", 0)
    element = replace(one.detail.elements[0], actual="7.0", actual_hex="0x40e00000")
    other = replace(failing_case("gpu", 0), detail=replace(one.detail, elements=(element,)))
    (case,) = compare_records(one, other, replace(one, backend="tpu")).cases
    assert (case.lone_backend, case.answers["gpu"].given) == ("", "7.0")
    found = compare_records(passing_case("cpu", 0), replace(other, digest="another"))
    assert (found.compared, found.cases) == (0, ())


def test_who_is_alone_most_often_comes_first_and_support_last() -> None:
    unsupported = replace(passing_case("cpu", 5), verdict=Verdict.UNSUPPORTED)
    found = compare_records(
        failing_case("cpu", 0), passing_case("gpu", 0), passing_case("tpu", 0),
        *(record for index in (1, 2) for record in
          (passing_case("cpu", index), failing_case("gpu", index), passing_case("tpu", index))),
        unsupported, passing_case("gpu", 5), passing_case("tpu", 5),
    )  # fmt: skip
    places = [(case.lone_backend, case.index) for case in found.cases]
    assert places == [("gpu", 1), ("gpu", 2), ("cpu", 0), ("", 5)]
    assert found.lone_backends == {"gpu": 2, "cpu": 1}


ADD, SINE, DOT = (("add", "f32", "cpu"), ("sine", "f32", "cpu"), ("dot_general", "f32", "cpu"))


def passing_record(cell: tuple[str, str, str]) -> Record:
    return Record(*cell, 0, "0" * 16, Verdict.PASS)


def at(date: str, *records: Record, planned=(ADD, SINE), **versions: str) -> tuple[str, RunData]:
    made = run_of(list(records), {}, planned)
    return date, replace(made, started=date, versions=made.versions | versions)


def history(*runs: tuple[str, RunData]) -> History:
    past: list[PastRun] = [past_run(Path(date), run) for date, run in runs]
    return History(tuple(past), runs[-1][1])


def test_cells_that_changed_last_come_first() -> None:
    known = failure(SINE, 0, Verdict.DIVERGENT, known="subnormals")
    new = failure(ADD, 0, Verdict.INACCURATE)
    found = history(
        at("2026-01-01T00:00:00", passing_record(ADD), passing_record(SINE)),
        at("2026-02-01T00:00:00", passing_record(ADD), known, jax="0.13"),
        at("2026-03-01T00:00:00", new, known, planned=(ADD, SINE, DOT)),
    )
    assert [cell.key for cell in found.changed_cells] == [ADD, SINE]
    assert [cell.last_change for cell in found.changed_cells] == [2, 1]
    words = [[outcome and outcome.words for outcome in cell.outcomes] for cell in found.cells]
    assert words == [
        ["pass", "pass", "inaccurate, new"],
        ["pass", "divergent, known", "divergent, known"],
        [None, None, "untested"],
    ]
    told = history_json(found)
    assert [(cell.op, cell.verdicts, cell.outcomes) for cell in told.cells] == [
        ("add", ("pass", "pass", "inaccurate"), ("conforms", "conforms", "new")),
        ("sine", ("pass", "divergent", "divergent"), ("conforms", "known", "known")),
        ("dot_general", (None, None, "untested"), (None, None, "untested")),
    ]
    assert found.differences(0) == ()
    assert found.differences(1) == (("jax", "0.12.0", "0.13"),)
    lines = history_lines(found)
    assert lines[0] == "2026-01-01 00:00 cpu: 2 of 2 cells conform"
    assert lines[1].endswith("1 with known divergences (jax 0.12.0 → 0.13)")
    assert lines[3] == "cells that changed over these runs: 2 of 3"
    assert lines[4] == "changed: add f32 on cpu: pass → pass → inaccurate, new"


def store_run(folder: Path, date: str) -> Path:
    """Return the folder of a run with its database and its summary.json."""
    _, made = at(date, passing_record(ADD), passing_record(SINE))
    with Store(folder / FILE_NAME) as store:
        records = made.records
        for record in records:
            cell = (record.op, record.element_type, record.backend)
            store.add_task(record.id, cell, [record], Errors(), Timing())
        backends = [asdict(backend) for backend in made.backends]
        store.set_meta({"started": date, "planned": made.planned, "backends": backends,
                        "versions": made.versions, "profile": "smoke", "seed": 0})  # fmt: skip
    write_json(load(folder).report, folder / "summary.json")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    dates = ("2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00")
    return store_run(tmp_path / "old", dates[0]), store_run(tmp_path / "new", dates[1])


@pytest.mark.parametrize("is_other_format", [False, True])
def test_a_summary_is_enough_of_an_older_run(runs: tuple[Path, Path], is_other_format) -> None:
    old, new = runs
    whole = load_history([new, old])
    if is_other_format:
        with closing(sqlite3.connect(old / FILE_NAME)) as database:
            database.execute("PRAGMA user_version = 1")
        given = old
    else:
        given = old / "summary.json"
    found = load_history([new, given])
    assert [run.summary for run in found.runs] == [run.summary for run in whole.runs]
    assert found.newest.started == load(new).started
    assert found.runs[0].path == str(given)


def test_the_newest_run_has_to_be_there_whole(runs: tuple[Path, Path]) -> None:
    old, new = runs
    with pytest.raises(UsageError, match=r"the newest run, .*new/summary.json, is given as a"):
        load_history([old, new / "summary.json"])


@pytest.mark.parametrize(
    "text", ["no JSON", "[]", "{}", None, '{"schema_version": "2.0"}', '"schema_version"']
)
def test_invalid_summary_is_one_line(runs: tuple[Path, Path], text: str | None) -> None:
    old, new = runs
    path = old / "other.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=r"other.json") as caught:
        load_history([new, path])
    assert "\n" not in str(caught.value)


def test_runs_without_a_cell_in_common_are_no_history(runs: tuple[Path, Path]) -> None:
    old, new = runs
    path = old / "summary.json"
    path.write_text(path.read_text().replace('"backend": "cpu"', '"backend": "gpu"'))
    with pytest.raises(UsageError, match=r"have no cell in common"):
        load_history([new, path])

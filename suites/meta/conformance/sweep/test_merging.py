"""Shards of a sweep are merged to the result of one sweep; missing shards are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of
from conformance.results.store import FILE_NAME as RESULTS
from conformance.sweep.journal import FILE_NAME
from conformance.sweep.merging import is_sweep
from suites.meta.conformance.sweep.conftest import Call, Report

GIVEN = ("tanh", "add", "--element-type", "f8*", "--element-type", "f32", "--sample", 1024)
GIVEN = (*GIVEN, "--backend", "reference:off_by_100_ulp@tanh")


def comparable_part(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in told if name not in ("seconds", "started", "command")}


def test_shards_are_merged_into_the_whole(sweep: Call, report: Report, tmp_path: Path) -> None:
    whole = sweep(*GIVEN, out=tmp_path / "whole")
    parts = [tmp_path / f"part{n}" for n in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        sweep(*GIVEN, "--shard", f"{number}/3", out=part)
    code, told, _ = report(*reversed(parts), "--out", tmp_path / "all", "--format", "json")
    assert (code, comparable_part(json.loads(told))) == (whole[0], comparable_part(whole[1]))
    files = ("axis.json", "index.html")
    assert (tmp_path / "all" / files[0]).read_text() == (tmp_path / "whole" / files[0]).read_text()
    assert "StableHLO sweep" in (tmp_path / "all" / files[1]).read_text()

    code, told, _ = report(parts[0], parts[2], "--out", tmp_path / "two")
    assert code == 1
    assert "missing: shard 2/3" in told
    again = sweep(*GIVEN, out=tmp_path / "two")  # the command of the whole goes on from there
    assert comparable_part(again[1]) == comparable_part(whole[1])


def test_an_unfinished_shard_is_said(sweep: Call, report: Report, tmp_path: Path) -> None:
    parts = [tmp_path / "1", tmp_path / "2"]
    given = ("tanh", "--element-type", "f8*", "--backend", "reference")
    for number, part in enumerate(parts, 1):
        sweep(*given, "--shard", f"{number}/2", out=part)
    journal = parts[1] / FILE_NAME
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    code, told, _ = report(*parts, "--out", tmp_path / "all")
    assert code == 1
    assert f"unfinished: {parts[1]} lacks 256 values: give its command again" in told


def test_unmergeable_sweeps_are_one_line(sweep: Call, report: Report, tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    given = ("not", "--element-type", "i1", "--element-type", "si8", "--backend", "reference")
    sweep(*given, "--shard", "1/2", out=first)
    sweep(*given, "--shard", "2/2", out=second)
    sweep(*given, "--seed", 3, "--shard", "2/2", out=other)
    out = tmp_path / "all"
    for asked, said in (
        ((first, other, "--out", out), "seed 0 and 3"),
        ((first, first, "--out", out), "both are part 1/2"),
        ((first, second, "--out", first), "is one of the sweeps"),
        ((first, second), "give --out"),
        ((first, tmp_path, "--out", out), "give the folder of a run"),
        ((first, tmp_path / "nowhere", "--out", out), "does not exist"),
        ((first, "--strict"), "apply only to the report of a run"),
        ((first, second, "--out", other), "holds another sweep"),
    ):
        code, _, told = report(*asked)
        assert code == 2
        assert said in told
        assert told.count("\n") == 1


def test_a_page_is_written_again(sweep: Call, report: Report, tmp_path: Path) -> None:
    out = tmp_path / "swept"
    sweep(*GIVEN, out=out)
    page = (out / "index.html").read_text(encoding="utf-8")
    (out / "index.html").unlink()
    code, told, _ = report(out)
    assert (code, told) == (0, f"report: {out / 'index.html'}\n")
    assert (out / "index.html").read_text(encoding="utf-8") == page
    assert "tanh f8E5M2" in page
    assert page.count("<svg") == 1
    assert "Errors of tanh f32 in ulp" in page
    (out / "sweep.json").write_text("{}")
    code, _, said = report(out)
    assert (code, said.count("\n")) == (2, 1)


@pytest.mark.parametrize("asked", ["json", "text"])
def test_a_sweep_is_printed(sweep: Call, report: Report, tmp_path: Path, asked: str) -> None:
    given = ("not", "--element-type", "i1", "--backend", "reference")
    _, result = sweep(*given, out=tmp_path / "swept")
    code, told, _ = report(tmp_path / "swept", "--format", asked)
    assert code == 0
    assert asked == "text" or json.loads(told) == result


@pytest.mark.slow
def test_a_sweep_is_a_section_of_the_report_of_a_run(
    sweep: Call, report: Report, tmp_path: Path
) -> None:
    swept, out = tmp_path / "swept", tmp_path / "out"
    sweep("tanh", "--element-type", "f8E5M2", "--backend", GIVEN[-1], out=swept)
    run = tmp_path / "run"
    cells = ("--op", "not", "--element-type", "i1", "--profile", "smoke")
    asked = ("run", *cells, "--backend", "reference", "--jobs", "1", "--out", str(run))
    assert exit_code_of(lambda: app([*asked], standalone_mode=False)) == 0
    code, told, _ = report(run, swept, "--out", out)
    assert code == 0
    assert "sweeps: 1 function, 256 values, 2 new classes of failures" in told
    page = (out / "index.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="sweeps"') :].partition("</section>")[0]
    assert "<code>tanh f8E5M2</code>" in section
    assert "2 classes of failures, 2 of them new" in section
    assert "## Sweeps" in (out / "summary.md").read_text(encoding="utf-8")
    (stored,) = json.loads((out / "summary.json").read_text(encoding="utf-8"))["sweeps"]
    assert stored == json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    code, told, _ = report(run)
    assert "sweeps" not in told
    assert '<section id="sweeps"' not in (run / "index.html").read_text(encoding="utf-8")


def test_a_sweep_is_a_folder_with_its_files_and_no_run(tmp_path: Path) -> None:
    assert not is_sweep(tmp_path)
    (tmp_path / FILE_NAME).touch()
    assert is_sweep(tmp_path)
    assert is_sweep(tmp_path / FILE_NAME)
    (tmp_path / RESULTS).touch()
    assert not is_sweep(tmp_path)

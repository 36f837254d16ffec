"""Shards of a sweep are merged; the lines and the files of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from conformance.outputs.sweep import ResultClass
from conformance.sweep.journal import FILE_NAME
from conformance.sweep.judging import axis_shift
from conformance.sweep.summary import lines_of
from conformance.verdict import HISTOGRAM_EDGES, Verdict
from reference.ir.types import element_type
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


F32 = element_type("f32")
SHIFT = axis_shift(F32)


def code(number: float) -> int:
    return int(np.float32(number).view(np.uint32)) >> SHIFT


class Stated:
    """An object with the given fields, in place of a whole sweep."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


def result_class(
    verdict: Verdict, count: int = 1, known: str = "", message: str = ""
) -> ResultClass:
    return ResultClass(
        verdict=verdict, class_="", count=count, known=known, message=message, worst_ulp=None,
        example=None,
    )  # fmt: skip


def lines(*classes: ResultClass, **given: Any) -> list[str]:
    function: Any = Stated(**{
        "name": "tanh f32", "state": "pass", "arguments": "all", "values": 1000, "planned": 1000,
        "correctly_rounded": 999, "worst": None, "worst_ulp": None, "classes": classes,
        "histogram": (0,) * (len(HISTOGRAM_EDGES) + 1), "inversions": 0, "asymmetries": None,
        **given,
    })  # fmt: skip
    sweep: Any = Stated(functions=(function,), shard=given.get("shard", "1/1"))
    return list(lines_of(sweep))


def test_failures_are_listed_as_known_or_new() -> None:
    found = lines(
        result_class(Verdict.DIVERGENT, 2000, "", "It is wrong. And more"),
        result_class(Verdict.INACCURATE, 1, "mine"), inversions=5,
    )  # fmt: skip
    assert found[1] == "  divergent: 2,000: It is wrong.; new"
    assert found[2] == "  inaccurate: 1; known: mine"
    assert found[3] == "  not monotonic: 5 neighbours in the wrong order"
    assert found[4].endswith("1 new and 1 known classes of failures")


def test_function_without_results_has_the_backends_words() -> None:
    found = lines(result_class(Verdict.CRASHED, 1, "", "It died. More"), state="crashed")
    assert found[0] == "tanh f32: crashed: It died.; new"
    assert lines(state="untested")[0] == "tanh f32: untested"

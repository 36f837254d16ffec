"""Sweeps: verdicts, resuming, and shards that are merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.cli import app, exit_code_of
from conformance.outputs.sweep import ResultClass
from conformance.sweep.journal import FILE_NAME
from conformance.sweep.judging import axis_shift
from conformance.sweep.summary import lines_of
from conformance.verdict import HISTOGRAM_EDGES, Verdict
from reference.ir.types import element_type
from suites.meta.conformance.sweep.conftest import Call, Report


def test_the_reference_is_right_everywhere(sweep: Call) -> None:
    types = ("--element-type", "f8E5M2", "--element-type", "f16", "--element-type", "si8")
    ops = ("tanh", "cosine", "add", "log", "negate", "compare", "convert", "reduce_precision")
    code, told = sweep(*ops, *types, "--backend", "reference", "--sample", 4096, "--to", "bf16")
    assert code == 0
    for one in told["functions"]:
        assert one["correctly_rounded"] == one["values"] == one["planned"], one["name"]
        assert one["state"] == "pass"
        assert one["worst"] is None
        assert not one["inversions"]
        assert not one["asymmetries"]
    found = {one["name"]: one for one in told["functions"]}
    assert found["tanh f16"]["values"] == found["add f8E5M2"]["values"] == 65536
    assert found["tanh f16"]["arguments"] == "all"
    assert found["add f16"]["arguments"] == "sample"
    assert (found["tanh f16"]["inversions"], found["cosine f16"]["inversions"]) == (0, None)
    assert (found["cosine f16"]["asymmetries"], found["log f16"]["asymmetries"]) == (0, None)


@pytest.mark.parametrize(
    ("fault", "op", "of", "verdict", "least"),
    [
        ("off_by_100_ulp@tanh", "tanh", "f32", "inaccurate", 99.0),
        ("one_wrong_element", "negate", "si8", "divergent", None),
    ],
)
def test_a_fault_is_found(
    sweep: Call, fault: str, op: str, of: str, verdict: str, least: float | None
) -> None:
    backend = ("--backend", f"reference:{fault}")
    code, told = sweep(op, "--element-type", of, *backend, "--sample", 2048)
    assert code == 1
    (function,) = told["functions"]
    assert verdict in [one["verdict"] for one in function["classes"] if not one["known"]]
    assert function["correctly_rounded"] < function["values"]
    if least is not None:
        assert function["worst_ulp"] > least
        assert function["worst"]["ulp"] == function["worst_ulp"]


def test_crash_affects_only_its_function(sweep: Call) -> None:
    given = ("--element-type", "f8E5M2", "--element-type", "i1")
    code, told = sweep("abs", "tanh", "not", *given, "--backend", "reference:abort_on_nan")
    assert code == 1
    states = {one["name"]: one["state"] for one in told["functions"]}
    assert states == {"abs f8E5M2": "crashed", "tanh f8E5M2": "crashed", "not i1": "pass"}


def test_killed_sweep_is_resumed(sweep: Call, tmp_path: Path) -> None:
    given = ("sine", "log", "add", "--element-type", "f16", "--element-type", "f8E4M3")
    given = (*given, "--backend", "reference", "--sample", 1024)
    whole = sweep(*given, out=tmp_path / "whole")
    path = tmp_path / "whole" / FILE_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) > 3
    (tmp_path / "cut").mkdir()
    cut = tmp_path / "cut" / FILE_NAME
    cut.write_bytes(b"".join(lines[:2]) + lines[2][:40])  # as a process killed in a write leaves it
    again = sweep(*given, out=tmp_path / "cut")
    assert cut.read_bytes().startswith(b"".join(lines[:2]))
    assert len(cut.read_bytes().splitlines()) == len(lines)
    for told in (whole[1], again[1]):
        for varying in ("seconds", "started", "command"):
            del told[varying]
    assert again == whole


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("tanhh",), 2, "did you mean tanh"),
        (("dot_general",), 2, "elementwise ops of one or two operands"),
        (("Exp",), 2, "sweep 'exponential'"),
        (("tanh", "--element-type", "f17"), 2, "did you mean f16"),
        (("tanh", "--element-type", "si8"), 2, "no function is left"),
        (("tanh", "--shard", "1"), 2, "--shard takes i/n"),
        (("tanh", "--shard", "3/2"), 2, "--shard 3/2"),
        (("tanh", "--backend", "cpo"), 2, "cpo"),
        (("tanh", "--sample", "3"), 2, "--sample"),
    ],
)
def test_unsweepable_op_is_one_line(
    given: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = ["sweep", *given, "--out", str(tmp_path)]
    assert exit_code_of(lambda: app(asked, standalone_mode=False)) == code
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_different_sweep_is_refused_in_one_line(
    sweep: Call, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("sweep", "not", "--backend", "reference", "--out", str(tmp_path / "out"))
    sweep("not", "--element-type", "i1", "--backend", "reference")
    asked = [*given, "--element-type", "si8"]
    assert exit_code_of(lambda: app(asked, standalone_mode=False)) == 2
    told = capsys.readouterr().err
    assert "functions not i1 there and not si8 here" in told
    assert told.count("\n") == 1


def test_unsupported_functions_count_as_untested(sweep: Call) -> None:
    given = ("--element-type", "f16", "--backend", "reference:unsupported@tanh")
    code, told = sweep("tanh", *given)
    assert code == told["exit_code"] == 4
    assert told["functions"][0]["state"] == "unsupported"


GIVEN = (
    "tanh", "add", "--element-type", "f8*", "--element-type", "f32", "--sample", 1024,
    "--backend", "reference:off_by_100_ulp@tanh",
)  # fmt: skip


def comparable_part(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in told if name not in ("seconds", "started", "command")}


def test_shards_are_merged_into_the_whole(sweep: Call, report: Report, tmp_path: Path) -> None:
    whole = sweep(*GIVEN, out=tmp_path / "whole")
    parts = [tmp_path / f"part{n}" for n in (1, 2, 3)]
    for index, part in enumerate(parts, 1):
        sweep(*GIVEN, "--shard", f"{index}/3", out=part)
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
    for index, part in enumerate(parts, 1):
        sweep(*given, "--shard", f"{index}/2", out=part)
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

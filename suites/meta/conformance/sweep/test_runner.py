"""The command `sweep`: findings, files, and resuming."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli import app, exit_code_of
from conformance.sweep.journal import FILE_NAME
from suites.meta.conformance.sweep.conftest import Call


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

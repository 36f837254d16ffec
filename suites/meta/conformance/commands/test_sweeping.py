"""Options of `sweep` arrive at the sweep as they were given; shards are i/n."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of
from conformance.commands import sweep_reports, sweeping
from conformance.sweep import planning, runner, summary


class Stopped(Exception):
    """The end of a command whose sweep is not made."""


def given_options(monkeypatch: pytest.MonkeyPatch, *words: str) -> planning.Options:
    seen: list[planning.Options] = []

    def keep(options: planning.Options, *_: Any) -> None:
        seen.append(options)
        raise Stopped

    monkeypatch.setattr(runner, "sweep", keep)
    with pytest.raises(Stopped):
        app(["sweep", *words], standalone_mode=False)
    (options,) = seen
    return options


def test_a_sweep_has_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(monkeypatch, "exp*")
    assert (found.ops, found.backend, found.out) == (
        ("exp*",),
        "cpu",
        Path("hlo-conformance-sweep"),
    )
    assert (found.element_types, found.to, found.arity) == ((), (), 0)
    assert found.sample == planning.SAMPLE == sweeping.SAMPLE
    assert (found.shard, found.exhaustive, found.fresh) == ((1, 1), False, False)
    assert found.expectations is None


def test_options_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(
        monkeypatch, "convert", "add", "--element-type", "f16", "--element-type", "si8", "--to",
        "f32", "--arity", "1", "--backend", "reference", "--sample", "64", "--exhaustive", "--seed",
        "9", "--shard", "2/5", "--jobs", "3", "--expectations", "none", "--out", "here",
        "--timeout", "12", "--fresh",
    )  # fmt: skip
    assert (found.ops, found.element_types, found.to) == (
        ("convert", "add"),
        ("f16", "si8"),
        ("f32",),
    )
    assert (found.arity, found.backend, found.sample, found.seed) == (1, "reference", 64, 9)
    assert (found.exhaustive, found.fresh, found.jobs) == (True, True, 3)
    assert (found.shard, found.out, found.expectations) == ((2, 5), Path("here"), ("none",))
    assert found.limits.timeout == 12


@pytest.mark.parametrize("shard", ["2", "a/b", "1/", "/3", "-1/3"])
def test_a_shard_is_two_numbers(shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["sweep", "exp*", "--shard", shard]
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 2
    assert f"--shard takes i/n, such as 1/4, not {shard!r}" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["text", "json"])
def test_results_are_printed_and_decide_the_exit_code(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    class Result:
        exit_code = 1

    monkeypatch.setattr(runner, "sweep", lambda *_: "swept")
    monkeypatch.setattr(sweep_reports, "save", lambda *_: Result)
    monkeypatch.setattr(summary, "lines_of", lambda _: ["a line"])
    monkeypatch.setattr("conformance.outputs.schema.json_text", lambda _: "{}\n")
    given = ["sweep", "exp*", "--out", str(tmp_path), "--format", how]
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 1
    lines = ["a line", f"results: {tmp_path}/sweep.json", f"report: {tmp_path}/index.html"]
    assert capsys.readouterr().out.splitlines() == (["{}"] if how == "json" else lines)

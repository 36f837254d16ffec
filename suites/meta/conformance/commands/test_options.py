"""Options of fuzz, reduce and sweep arrive as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of
from conformance.commands import campaigns, sweep_reports
from conformance.fuzzing import command, reduce
from conformance.sweep import planning, runner, summary


def given_options(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *words: str) -> Any:
    """Return the options that a command gets from these words; it exits with 7."""
    assert callable(getattr(campaigns, name))
    seen: list[Any] = []

    def keep(options: Any, *_: Any) -> int:
        seen.append(options)
        return 7

    monkeypatch.setattr(module, name, keep)
    assert exit_code_of(lambda: app([name, *words], standalone_mode=False)) == 7
    (options,) = seen
    return options


def test_options_of_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(
        monkeypatch, command, "fuzz", "--backend", "reference", "--op", "add", "--op", "tanh",
        "--programs", "30", "--seed", "5", "--out", "here", "--jobs", "2", "--fresh",
        "--timeout", "12",
    )  # fmt: skip
    assert (found.backend, found.ops) == ("reference", ("add", "tanh"))
    assert (found.programs, found.seed, found.out, found.jobs) == (30, 5, Path("here"), 2)
    assert found.fresh
    assert found.limits.timeout == 12


def test_options_of_a_minimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(
        monkeypatch, reduce, "reduce", "model.mlir", "--inputs", "x.npz", "--budget", "90s"
    )
    assert (found.file, found.inputs) == (Path("model.mlir"), Path("x.npz"))
    assert (found.budget, found.backend) == ("90s", "cpu")


class Stopped(Exception):
    """The end of a command whose sweep is not made."""


def sweep_options(monkeypatch: pytest.MonkeyPatch, *words: str) -> planning.Options:
    seen: list[planning.Options] = []

    def keep(options: planning.Options, *_: Any) -> None:
        seen.append(options)
        raise Stopped

    monkeypatch.setattr(runner, "sweep", keep)
    with pytest.raises(Stopped):
        app(["sweep", *words], standalone_mode=False)
    (options,) = seen
    return options


def test_options_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sweep_options(
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

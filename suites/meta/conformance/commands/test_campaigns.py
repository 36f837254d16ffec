"""Options of `fuzz` and `reduce` arrive at the campaign as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of
from conformance.commands import campaigns
from conformance.fuzzing import command, reduce


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


def test_a_campaign_has_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(monkeypatch, command, "fuzz")
    assert (found.backend, found.budget, found.seed) == ("cpu", "10m", 0)
    assert (found.ops, found.corpus, found.fresh) == ((), None, False)


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

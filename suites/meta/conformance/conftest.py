"""Fixtures: the command line called as a function, and a finished run."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli import app, exit_code_of
from suites.meta.support.command_line import SMOKE


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs a command and returns exit code, output and errors."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITLAB_CI"):  # these may run in CI
        monkeypatch.delenv(name, raising=False)

    def run_command(*arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        code = exit_code_of(lambda: app(given, standalone_mode=False))
        return code, *capsys.readouterr()

    return run_command


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run of one cell."""
    out = tmp_path_factory.mktemp("finished")
    given = ("run", "--backend", "reference", *SMOKE, "--out", str(out), "--jobs", "1")
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 0
    return out

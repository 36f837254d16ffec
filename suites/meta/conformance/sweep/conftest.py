"""The commands `sweep` and `report`, called as a user does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of

Call = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def sweep(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Sweep into a folder; return the exit code and the JSON."""

    def run_sweep(*given: object, out: Path = tmp_path / "out") -> tuple[int, dict[str, Any]]:
        asked = ("sweep", *given, "--out", out, "--jobs", 1, "--format", "json")
        capsys.readouterr()
        code = exit_code_of(lambda: app([str(one) for one in asked], standalone_mode=False))
        return code, json.loads(capsys.readouterr().out or "null")

    return run_sweep


Report = Callable[..., tuple[int, str, str]]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Call `report`; return the exit code, the output, and the errors."""

    def run_report(*given: object) -> tuple[int, str, str]:
        asked = ["report", *map(str, given)]
        capsys.readouterr()
        code = exit_code_of(lambda: app(asked, standalone_mode=False))
        told = capsys.readouterr()
        return code, told.out, told.err

    return run_report

"""examples/nightly on the reference: nights are compared, and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tools.pages import ROOT

NIGHTLY = ROOT / "examples" / "nightly" / "nightly.py"
CASES = "--profile smoke --op divide --element-type bf16 --jobs 1"
SWEEP = "--sample 256 --element-type bf16 --jobs 1"


def work(folder: Path, date: str, *given: str) -> list[str]:
    """Do a night, which must end well, and return the steps that were taken."""
    options = ["--backend", "reference", "--python", sys.executable, "--cases", CASES]
    command = [sys.executable, NIGHTLY, folder, *options, "--sweep", SWEEP, "--date", date, *given]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    return [line[3:].partition(":")[0] for line in lines if line.startswith("-- ")]


@pytest.mark.slow
def test_a_night_is_compared_with_the_one_before_and_not_repeated(tmp_path: Path) -> None:
    assert work(tmp_path, "2026-01-01", "--budget", "1s") == ["run", "fuzz", "report"]
    (first,) = (tmp_path / "nights").iterdir()
    summary = first / "run" / "summary.json"
    found = json.loads(summary.read_text())
    found["cells"][0]["worst_ulp"] = 7.0  # as if the error had been another one
    summary.write_text(json.dumps(found))
    steps = ["run", "sweep divide", "page of divide", "report"]
    assert work(tmp_path, "2026-01-02", "--budget", "0s") == steps
    assert work(tmp_path, "2026-01-02", "--budget", "0s") == []
    second = json.loads((max((tmp_path / "nights").iterdir()) / "run" / "summary.json").read_text())
    assert len(second["history"]["runs"]) == 2
    page = (tmp_path / "index.html").read_text()
    assert page.index("2026-01-02") < page.index("2026-01-01")
    assert "sweeps/divide/index.html" in page

"""Models of other frameworks are checked where these are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from suites.meta.examples.workflows import EXAMPLES


@pytest.mark.parametrize(
    ("name", "needed", "wrong"),
    [
        ("jax", "jax", "tanh"),
        ("keras", "keras", "divide"),
        ("tensorflow", "tensorflow", "divide"),
        ("torch", "torchax", "divide"),
    ],
)
def test_a_model_conforms_and_a_wrong_backend_is_told(
    name: str, needed: str, wrong: str, tmp_path: Path
) -> None:
    pytest.importorskip(needed)
    backend = f"reference:off_by_100_ulp@{wrong}"
    for arguments, code, said in (([], 0, "pass"), ([backend], 1, f"first wrong: {wrong}")):
        command = [sys.executable, EXAMPLES / f"check_a_{name}_model.py", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (ran.returncode, said in ran.stdout) == (code, True), ran.stdout + ran.stderr

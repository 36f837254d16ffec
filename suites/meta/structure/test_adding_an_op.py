"""A new op is added in three places; all else follows from its record, or fails loudly.

The project is copied, the op put into the copy as CONTRIBUTING.md says, and the copy's command line
run: the op's cells pass on a right backend, quantized cells and near misses among them, and fail on
a wrong backend. What is left out is asked for by name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from suites.meta.structure.made_up_ops import SQUARE, WINDOW_MAXIMUM, Addition

ROOT = Path(__file__).parents[3]
PLACES, LINES = 3, 60
"""Maximum number of folders (of the reference, the generators, the catalog) and lines for an op."""


def copied(tmp_path: Path, additions: Sequence[Addition]) -> Path:
    for package in ("conformance", "generators", "reference", "reports", "suites"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for addition in additions:
        path = tmp_path / addition.file
        text = path.read_text("utf-8")
        before, found, after = text.partition(f"\n{addition.before}")
        assert found, (addition.file, addition.before)
        path.write_text(f"{before}\n{addition.text}{found[1:]}{after}", "utf-8")
    return tmp_path


def command(at: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(at)}
    return subprocess.run(
        [sys.executable, *words], cwd=at, env=environment, capture_output=True, text=True
    )


def verdicts_of(at: Path, op: str, backend: str) -> dict[str, str]:
    """The verdict of each cell, by column, of a smoke run of the op."""
    out = at / backend.replace(":", "-")
    words = ("-m", "conformance", "run", "--profile", "smoke", "--op", op, "--backend", backend)
    done = command(at, *words, "--out", str(out))
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads((out / "summary.json").read_text())["cells"]
    return {cell["element_type"]: cell["verdict"] for cell in cells}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "additions"), [("square", SQUARE), ("window_maximum", WINDOW_MAXIMUM)]
)
def test_everything_else_follows(tmp_path: Path, op: str, additions: Sequence[Addition]) -> None:
    assert len({addition.file.split("/")[0] for addition in additions}) <= PLACES
    lines = [line for addition in additions for line in addition.text.splitlines() if line.strip()]
    assert len(lines) <= LINES
    at = copied(tmp_path, additions)
    right = verdicts_of(at, op, "reference")
    assert {"f32", "si8", "invalid"} <= set(right)
    assert any(column.startswith("q<") for column in right), "no quantized cells"
    assert set(right.values()) <= {"pass", "unspecified"}, right
    wrong = verdicts_of(at, op, "reference:off_by_one_last_element")
    assert wrong["f32"] == "divergent", wrong
    listed = command(at, "-m", "conformance", "ops", op)
    assert "C1" in listed.stdout
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", op)
    mutations = "suites/meta/conformance/judging/test_mutations.py"
    caught = command(at, *words, mutations, "--rootdir", str(at))
    assert caught.returncode == 0, caught.stdout


@pytest.mark.parametrize(
    ("additions", "left_out", "asked_for"),
    [
        (SQUARE, "conformance/catalog.py", "square"),
        (WINDOW_MAXIMUM, "conformance/catalog.py", "window_maximum"),
        (WINDOW_MAXIMUM, "generators/families/reduction.py", "window_maximum"),
        (WINDOW_MAXIMUM, "generators/invalid/reduction.py", "window_maximum"),
    ],
)
def test_a_missing_part_of_an_op_is_named_by_an_error(
    tmp_path: Path, additions: Sequence[Addition], left_out: str, asked_for: str
) -> None:
    at = copied(tmp_path, [one for one in additions if one.file != left_out])
    done = command(at, "-c", "import conformance.campaign.tasks")
    module = left_out.removesuffix(".py").replace("/", ".")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("LookupError"), done.stderr
    assert asked_for in last
    assert module in last

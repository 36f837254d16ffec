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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from hlo_conformance import PACKAGES
from suites.meta.structure.made_up_ops import SQUARE, WINDOW_MAXIMUM, Addition

ROOT = Path(__file__).parents[3]
PLACES, LINES = 3, 60
"""Maximum number of folders (of the reference, the generators, the catalog) and lines for an op."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project. Tests share it, so most of its bytecode is made once."""
    folder = tmp_path_factory.mktemp("project")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    shutil.copy(ROOT / "hlo_conformance.py", folder)
    return folder


@contextmanager
def extend_project(project: Path, additions: Sequence[Addition]) -> Iterator[None]:
    """Put the additions into the files of the project while the block runs."""
    before = {addition.file: (project / addition.file).read_bytes() for addition in additions}
    try:
        for addition in additions:
            path = project / addition.file
            text = path.read_text("utf-8")
            head, found, tail = text.partition(f"\n{addition.before}")
            assert found, (addition.file, addition.before)
            path.write_text(f"{head}\n{addition.text}{found[1:]}{tail}", "utf-8")
        yield
    finally:
        for file, content in before.items():
            (project / file).write_bytes(content)


def command(at: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(at)}
    return subprocess.run(
        [sys.executable, *words], cwd=at, env=environment, capture_output=True, text=True
    )


RIGHT, WRONG = "reference", "reference:off_by_one_last_element"


def verdicts_of(project: Path, op: str, out: Path) -> dict[str, dict[str, str]]:
    """Return the verdict of each cell in a smoke run of the op, by backend and column."""
    words = ("-m", "conformance", "run", "--profile", "smoke", "--op", op, "--jobs", "1")
    done = command(project, *words, "--backend", RIGHT, "--backend", WRONG, "--out", str(out))
    assert done.returncode == 1, done.stderr
    found: dict[str, dict[str, str]] = {RIGHT: {}, WRONG: {}}
    for cell in json.loads((out / "summary.json").read_text())["cells"]:
        found[cell["backend"]][cell["element_type"]] = cell["verdict"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "additions"), [("square", SQUARE), ("window_maximum", WINDOW_MAXIMUM)]
)
def test_everything_else_follows(
    project: Path, tmp_path: Path, op: str, additions: Sequence[Addition]
) -> None:
    assert len({addition.file.split("/")[0] for addition in additions}) <= PLACES
    lines = [line for addition in additions for line in addition.text.splitlines() if line.strip()]
    assert len(lines) <= LINES
    with extend_project(project, additions):
        verdicts = verdicts_of(project, op, tmp_path / "out")
        right, wrong = verdicts[RIGHT], verdicts[WRONG]
        assert {"f32", "si8", "invalid"} <= set(right)
        assert any(column.startswith("q<") for column in right), "no quantized cells"
        assert set(right.values()) <= {"pass", "unspecified"}, right
        assert wrong["f32"] == "divergent", wrong
        listed = command(project, "-m", "conformance", "ops", op)
        assert "C1" in listed.stdout
        words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", op)
        mutations = "suites/meta/conformance/judging/test_mutations.py"
        caught = command(project, *words, mutations, "--rootdir", str(project))
        assert caught.returncode == 0, caught.stdout


@pytest.mark.slow
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
    project: Path, additions: Sequence[Addition], left_out: str, asked_for: str
) -> None:
    with extend_project(project, [addition for addition in additions if addition.file != left_out]):
        done = command(project, "-c", "import conformance.campaign.tasks")
    module = left_out.removesuffix(".py").replace("/", ".")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("LookupError"), done.stderr
    assert asked_for in last
    assert module in last

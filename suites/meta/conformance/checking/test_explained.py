"""Failures of a stored run that expectations match: `expectations check --db`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.checking.explained import MatchedFailures, count_matched
from conformance.cli import app, exit_code_of
from conformance.gate.expectations import Expectation
from conformance.results.known_elements import KnownElements
from conformance.results.store import FILE_NAME, Store
from conformance.verdict import Detail, Errors, Failing, Record, Timing, Verdict

EXPECTATIONS = """
[[known]]
id = "mine"
op = "tanh"
element_types = ["f32", "f64"]
kinds = ["NaN"]
reason = "ours"

[[known]]
id = "other"
op = "*"
reason = "theirs"
"""


def failing_class(kind: str, wrong: int, known: str, predicted: int = 0) -> Failing:
    return Failing(Verdict.DIVERGENT, kind, "", wrong, known=known, predicted=predicted)


def record(op: str, of: str, index: int, *classes: Failing, backend: str = "reference") -> Record:
    known = classes[0].known
    return Record(
        op, of, backend, index, "0", Verdict.DIVERGENT, "NaN", known=known, failing=classes
    )


def whole(of: str, index: int, known: str) -> Record:
    """Return a case of 5 wrong elements that is known as a whole."""
    shown = Detail("", b"", 5, 9)
    return Record(
        "tanh", of, "reference", index, "0", Verdict.DIVERGENT, "NaN", known=known, detail=shown
    )


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write a run and expectations, and return the options that name them."""
    records = [
        record(
            "tanh",
            "f32",
            0,
            failing_class("NaN", 10, "mine", 8),
            failing_class("sign", 3, "other", 3),
        ),
        record("tanh", "f32", 1, failing_class("NaN", 4, "mine", 4)),
        record("tanh", "f64", 0, failing_class("sign", 7, "")),
        record("tanh", "bf16", 0, failing_class("sign", 100, "other", 100)),
        record("add", "f32", 0, failing_class("NaN", 200, "other")),
        record("tanh", "f32", 0, failing_class("NaN", 400, "mine"), backend="cpu"),
        whole("f32", 2, "mine"),
        whole("f32", 3, ""),
        Record("tanh", "f32", "reference", 4, "0", Verdict.PASS),
    ]
    with Store(tmp_path / FILE_NAME) as store:
        store.set_meta({"planned": [["tanh", "f32", "reference"]], "backends": []})
        cell = ("tanh", "f32", "reference")
        store.add_task("task", cell, records, Errors(), Timing())
    (tmp_path / "mine.toml").write_text(EXPECTATIONS, encoding="utf-8")
    return ["--db", str(tmp_path), "--expectations", str(tmp_path / "mine.toml")]


def check(*options: str, backend: str = "reference") -> int:
    command = ["expectations", "check", "--backend", backend, *options]
    return exit_code_of(lambda: app(command, standalone_mode=False))


def test_each_entry_reports_its_matches_in_a_run(
    files: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert check(*files) == 4  # no counterexamples
    mine, other = capfd.readouterr().out.splitlines()
    # 10 + 4 + 5 are its own, of which 12 are predicted; 3 + 7 + 5 others fail in its scope
    assert mine == (
        "mine: no counterexample; matches 3 programs and 19 elements of the run, "
        "12 of them predicted within 2 ulp; "
        "does not predict 22 that fail in its scope"
    )
    assert "other: no counterexample; matches 3 programs and 303 elements" in other
    check(*files, "--format", "json", "mine")
    found = json.loads(capfd.readouterr().out)["run"]
    assert found == {
        "programs": 3, "elements": 19, "predicted": 12, "not_predicted_in_scope": 22
    }  # fmt: skip


def test_a_run_of_other_backends_is_refused_in_a_line(
    files: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert check(*files, backend="interpreter") == 2
    told = capfd.readouterr().err
    assert f"--db: the run in {tmp_path} has no results of interpreter" in told
    assert "it has results of reference only: give a --backend of the run" in told
    assert check("--db", str(tmp_path / "nowhere"), *files[2:]) == 2
    assert "there is no" in capfd.readouterr().err


def test_figures_are_a_line() -> None:
    one = MatchedFailures(1, KnownElements(2000, 1500), 3)
    assert str(one) == (
        "matches 1 program and 2,000 elements of the run, 1,500 of them predicted within 2 ulp; "
        "does not predict 3 that fail in its scope"
    )
    assert str(MatchedFailures(2, KnownElements(0, 0), 0)).startswith("matches 2 programs and 0 ")


def test_elements_in_the_scope_that_are_not_predicted_are_counted() -> None:
    entry = Expectation("mine", ("tanh",), "why")
    cells = {
        ("tanh", "f32", "reference"): [
            record("tanh", "f32", 0, failing_class("NaN", 5, "mine", 4))
        ],
        ("tanh", "f64", "reference"): [record("tanh", "f64", 0, failing_class("NaN", 7, ""))],
        ("add", "f32", "reference"): [record("add", "f32", 0, failing_class("NaN", 9, ""))],
    }
    found = count_matched(entry, cells)
    assert (found.programs, found.elements.count, found.elements.predicted) == (1, 5, 4)
    assert found.not_predicted == 1 + 7

"""The log of compilations: purposes by the functions that ask, and lines of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compilations import log
from benchmarks.compilations.log import BATCH, MISS, PART, Compilation, log_compilations, purpose
from conformance.backends.base import Rejected
from conformance.backends.session import Session


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (Compilation(BATCH, 1, 0.1, False), "batch of one"),
        (Compilation(BATCH, 5, 0.1, False), "batch"),
        (Compilation(PART, 1, 0.1, True), "part of a refused batch of one, refused"),
        (Compilation(MISS, 1, 0.1, True), "near miss, refused"),
    ],
)
def test_rows_of_the_table(given: Compilation, label: str) -> None:
    assert given.label == label


def test_the_purpose_is_that_of_the_nearest_function_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asks() -> str:
        return purpose()

    assert purpose() == BATCH
    monkeypatch.setitem(log.PURPOSES, asks.__code__, "something else")
    assert asks() == "something else"


def test_a_batch_that_is_split_has_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(depth: int) -> str:
        return run(depth - 1) if depth else purpose()

    split = type("Split", (), {"run": run})
    monkeypatch.setattr(log, "_SplitBatch", split)
    assert run(0) == BATCH
    assert run(1) == PART


def test_each_compilation_is_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def compile_program(self: Any, program: str, text: str = "") -> str:
        del self, text
        if program == "refused":
            raise Rejected("no")
        return program

    def run_batch(self: Any, programs: list[str], sets: Any) -> list[str]:
        del sets
        return [self.compile("merged") for _ in programs[:1]]

    monkeypatch.setattr(Session, "compile", compile_program)
    monkeypatch.setattr(Session, "run_batch", run_batch)
    log_compilations(tmp_path)
    session: Any = object.__new__(Session)
    assert session.compile("one") == "one"
    assert session.run_batch(["a", "b", "c"], []) == ["merged"]
    with pytest.raises(Rejected):
        session.compile("refused")
    lines = (tmp_path / str(os.getpid())).read_text().splitlines()
    rows = [Compilation(*json.loads(line)) for line in lines]
    assert [(row.programs, row.is_refused) for row in rows] == [(1, False), (3, False), (1, True)]
    assert all(row.seconds >= 0 for row in rows)

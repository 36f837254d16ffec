"""Figures of a large report: times of the command, sizes of files, the median of several loads."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.large_report import __main__ as module
from benchmarks.large_report.__main__ import LOADS, measure_report, open_page, write_reports
from conformance.results.store import FILE_NAME


def test_files_are_measured_in_megabytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def write(folder: Path, count: int, backends: tuple[str, ...]) -> None:
        (folder / FILE_NAME).write_bytes(bytes(count))
        (folder / "index.html").write_bytes(bytes(500_000))
        assert len(backends) == 2

    monkeypatch.setattr(module, "write", write)
    monkeypatch.setattr(module, "write_reports", lambda _: (2.0, 1.5, 300.0))
    found = measure_report(2_000_000, 2, tmp_path, is_opened=False)
    assert (found.seconds, found.cpu_seconds, found.peak_mb) == (2.0, 1.5, 300.0)
    assert (found.store_mb, found.page_mb) == (2.0, 0.5)
    assert (found.opened_ms, found.elements) == (None, 0)


def test_a_page_is_opened_several_times_and_until_it_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = iter([[0, 1, 0], [30, 7, 2], [10, 7, 2], [20, 7, 2]])
    opened: list[str] = []

    class Driver:
        get = staticmethod(opened.append)

        def execute_script(self, _: str) -> Any:
            return next(answers)

    @contextmanager
    def browser(*_: int) -> Any:
        yield Driver()

    monkeypatch.setattr(module, "browser", browser)
    assert open_page(tmp_path / "index.html") == (20, 7)
    assert len(opened) == LOADS


@pytest.mark.parametrize("status", [0, 1])
def test_a_report_that_fails_ends_the_benchmark(
    status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = type("Usage", (), {"ru_utime": 1.0, "ru_stime": 0.25, "ru_maxrss": 2048})
    process = type("Process", (), {"pid": 1, "returncode": None})
    monkeypatch.setattr(module.subprocess, "Popen", lambda *_, **__: process)
    monkeypatch.setattr(os, "wait4", lambda *_: (1, status << 8, usage))
    if status:
        with pytest.raises(SystemExit, match="ended with 1"):
            write_reports(tmp_path)
    else:
        _, spent, peak = write_reports(tmp_path)
        assert (spent, peak) == (1.25, 2.0)

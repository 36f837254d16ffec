"""Releases of jax: which are tried, and the row of each."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import releases
from conformance.results.store import Store
from conformance.verdict import Errors, Record, Timing, Verdict

DATES = {
    "0.5.3": "2026-10-01", "0.7.2": "2025-05-01", "0.8.1": "2025-11-01", "0.9.0": "2026-01-20",
    "0.10.0": "2026-04-01", "0.10.1": "2026-05-01", "0.11.0rc1": "2026-06-01",
}  # fmt: skip


def test_recent_releases_are_tried_oldest_first() -> None:
    listed = {v: [{"upload_time_iso_8601": f"{day}T10:00:00Z"}] for v, day in DATES.items()}
    now = datetime(2026, 11, 28, tzinfo=UTC)
    assert releases.recent_releases(listed | {"0.9.9": []}, now) == ["0.8.1", "0.9.0", "0.10.0"]


def write_run(path: Path, *known: str) -> None:
    records = [
        Record("add", "f32", "cpu", n, f"{n:016x}", Verdict.DIVERGENT, known=entry)
        for n, entry in enumerate(known)
    ]
    path.mkdir()
    with Store(path / "results.sqlite") as store:
        store.add_task("t", ("add", "f32", "cpu"), records, Errors(), Timing())
    (path / "index.html").touch()


def test_row_counts_new_and_known_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "ROOT", tmp_path)
    (tmp_path / "conformance.py").write_text("import sys; print('gone', file=sys.stderr)")
    write_run(tmp_path / "run", "", "an-entry", "an-entry")
    row = releases.run_release("0.9.0", Path(sys.executable), tmp_path / "run", [])
    assert row.split()[:3] == ["0.9.0", "1", "2"]
    row = releases.run_release("0.9.0", Path(sys.executable), tmp_path / "none", [])
    assert row == "0.9.0      no report: gone"

"""The progress of a check of many files."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from conformance.checking.progress import FilesBar


def shown(*, terminal: bool) -> str:
    """Return what a bar writes while three files of five are checked, one of which fails."""
    out = StringIO()
    with FilesBar(Console(file=out, force_terminal=terminal, width=120), 5) as bar:
        for failed in (0, 1, 1):
            bar.advance(failed)
    return out.getvalue()


def test_files_and_failures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert "3/5" in shown(terminal=True)
    assert "1 failed" in shown(terminal=True)


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert not shown(terminal=False).strip()


def test_in_continuous_integration_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert not shown(terminal=True).strip()

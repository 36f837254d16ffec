"""Pictures of the report: the run, windows of phones and desktops, few colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docs.tools import screenshots
from docs.tools.pages import PAGES
from docs.tools.screenshots import (
    BACKENDS,
    OPS,
    PICTURES,
    _run,
)


def test_all_pictures_are_assets_of_the_pages() -> None:
    assert {one.name for one in PICTURES} <= {path.name for path in (PAGES / "assets").iterdir()}


def test_the_run_has_all_backends_and_ops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(
        screenshots.subprocess, "run", lambda words, **given: ran.append((words, given))
    )
    _run(tmp_path / "run")
    ((words, given),) = ran
    assert given["cwd"] == tmp_path / "run"
    assert words.count("--backend") == len(BACKENDS)
    assert words[words.index("--op") + 1] == OPS[0]

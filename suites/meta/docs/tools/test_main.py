"""`python -m docs.tools` writes every generated page."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from docs.tools import generated, pages


def test_every_generated_page_is_written_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"first.md": lambda: "# One\n", "second.md": lambda: "# ü\n"}
    monkeypatch.setattr(generated, "PAGES_BY_NAME", made)
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    runpy.run_module("docs.tools.__main__")
    assert (tmp_path / "first.md").read_text() == "# One\n"
    assert (tmp_path / "second.md").read_text("utf-8") == "# ü\n"
    assert capsys.readouterr().out == "docs/first.md\ndocs/second.md\n"

"""Generated pages are up to date; every verdict and class has its place in the documentation."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from conformance.gate.classes import CLASSES
from conformance.verdict import Verdict
from docs.tools import generated, pages
from docs.tools.generated import PAGES_BY_NAME
from docs.tools.pages import PAGES


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_generated_pages_are_up_to_date(name: str) -> None:
    written = PAGES_BY_NAME[name]()
    assert (PAGES / name).read_text(encoding="utf-8") == written, "run: python -m docs.tools"


def test_every_verdict_has_a_section() -> None:
    text = (PAGES / "divergences.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+) \{#(\w+)\}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert {name for name, _, _ in sections} == {verdict.value for verdict in Verdict}
    for name, anchor, section in sections:
        assert name == anchor
        assert "Rule: " in section, name
        assert "```console\n$ hlo-conformance " in section, name
        verdict, fails = Verdict(name), "Fails a run" in section
        assert fails == verdict.fails, name


def test_every_class_has_a_paragraph() -> None:
    """Each in one paragraph, whose text begins with the names of its classes."""
    text = (PAGES / "divergences.md").read_text(encoding="utf-8")
    part = re.search(r"^## The classes\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert part
    heads = re.findall(r"^\*\*(.*?)\*\*:\s", part[1], re.MULTILINE | re.DOTALL)
    names = [name for head in heads for name in " ".join(head.split()).split(", ")]
    assert sorted(names) == sorted(CLASSES)


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

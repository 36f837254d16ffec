"""The functions that a case passes through: few, and among them those that a page names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.walk import ROOT, walk_command

MOST = 36
"""Half of the functions that a case passed through before there was one pipeline."""


def test_a_case_passes_through_few_functions_and_those_that_a_page_names(tmp_path: Path) -> None:
    stops = [name for _, name in walk_command("run", tmp_path).stops]
    assert len(stops) <= MOST, stops
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    (block,) = re.findall(r"```text\n(RunSession[^`]*)```", page)
    named = re.findall(r"^[│├└─ ]*([\w.]+) {2,}", block, re.MULTILINE)
    assert named[0] == stops[0]
    assert named[-1] == stops[-1]
    assert {*named} <= {*stops}
    assert len(named) == block.count("\n")


@pytest.mark.parametrize(("command", "most"), [("check", 48), ("fuzz", 66), ("replay", 40)])
def test_other_commands_take_the_same_way(command: str, most: int, tmp_path: Path) -> None:
    stops = walk_command(command, tmp_path).stops
    assert 20 < len(stops) <= most, stops
    assert any(room.startswith("conformance/backends/session") for room, _ in stops)

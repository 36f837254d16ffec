"""Pages that a command writes are what it writes now."""

from __future__ import annotations

from docs.tools import command_line
from docs.tools.pages import PAGES


def test_the_command_line_is_what_its_program_writes() -> None:
    mend = "python -m docs.tools.command_line > docs/command-line.md"
    assert (PAGES / "command-line.md").read_text(encoding="utf-8") == command_line.page(), mend

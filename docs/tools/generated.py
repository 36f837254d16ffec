"""The pages that are generated when the site is built, by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.listing import coverage_page
from conformance.outputs.page import schema_page
from docs.tools import accuracy, command_line, findings

PAGES_BY_NAME: dict[str, Callable[[], str]] = {
    "accuracy.md": accuracy.page,
    "command-line.md": command_line.page,
    "coverage.md": coverage_page,
    "findings.md": findings.page,
    "schema.md": schema_page,
}
"""Functions that return the text of a page."""


def write_pages(folder: Path) -> Iterator[Path]:
    """Write the generated pages into a folder, and yield the path of each."""
    for name, page in PAGES_BY_NAME.items():
        path = folder / name
        path.write_text(page(), encoding="utf-8")
        yield path

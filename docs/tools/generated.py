"""The pages that are generated, by the names of their files."""

from __future__ import annotations

from collections.abc import Callable

from conformance.listing import coverage_page
from conformance.outputs.page import schema_page
from docs.tools import accuracy, command_line

PAGES_BY_NAME: dict[str, Callable[[], str]] = {
    "accuracy.md": accuracy.page,
    "command-line.md": command_line.page,
    "coverage.md": coverage_page,
    "schema.md": schema_page,
}
"""Functions that return the text of a page."""

"""Text for people: error messages and reasons as they stand in a line of output or a table."""

from __future__ import annotations


def one_line(text: object) -> str:
    """Return the text of an object on one line: white space, line breaks included, collapsed."""
    return " ".join(str(text).split())

"""Text for people: error messages and reasons in one line of output or of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any


def one_line(text: object) -> str:
    """Return the text of an object on one line, with runs of white space as one space."""
    return " ".join(str(text).split())


def plural(number: int, noun: str, many: str = "") -> str:
    """Return a number with its noun: 1 case, 2 cases, 0 cases."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name is one of some names, or matches any glob among them."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def spell_option(value: Any) -> str:
    """Return the value of an option as text for messages; "all" for an empty list."""
    if isinstance(value, list):
        return ",".join(map(str, value)) or "all"  # pyright: ignore[reportUnknownArgumentType]
    return "unknown" if value is None else str(value)


def join_versions(versions: Iterable[tuple[str, object]]) -> str:
    """Return versions by name as text, in one line."""
    return ", ".join(f"{name} {number}" for name, number in versions)


def list_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return the differing options by name, each with both values."""
    return [
        f"{name} {spell_option(there.get(name))} there and {spell_option(value)} here"
        for name, value in here.items()
        if there.get(name) != value
    ]


def contains(text: str, pattern: str) -> bool:
    """Return whether a pattern matches part of a text.

    `*` stands for any text. A pattern between two `/` is a regular expression of Python, in which
    `.` also matches a line's end.
    """
    return _compile_pattern(pattern).search(text) is not None


def is_regular_expression(pattern: str) -> bool:
    """Return whether a pattern of `words` or `where` is a regular expression between two `/`."""
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


@lru_cache(maxsize=1024)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    if is_regular_expression(pattern):
        return re.compile(pattern[1:-1], re.DOTALL)
    return re.compile(".*?".join(map(re.escape, pattern.split("*"))), re.DOTALL)

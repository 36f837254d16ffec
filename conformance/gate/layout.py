"""The canonical layout of expectation files: the order of keys, and how values are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ORDER = (
    "id", "op", "element_types", "backends", "versions", "isa", "verdicts", "kinds", "words",
    "where", "cause", "max_ulp", "rare", "flaky", "unpredictable", "any_value", "computes",
    "sums", "reorders", "within", "flushes", "constants", "title", "reason", "link",
    "counterexample",
)  # fmt: skip
"""The keys of an entry, in the order in which they are written; unknown keys come last."""

INNER = ("program", "inputs")
"""The keys of a counterexample, in order."""

WIDTH = 120
"""Length of a line in characters above which a list has one element per line."""


def rank(key: str, order: Sequence[str] = ORDER) -> int:
    """Return the position of a key, or of the table of a dotted key, in an order."""
    first = key.partition(".")[0]
    return order.index(first) if first in order else len(order)


def value_text(value: Any, width: int = WIDTH) -> str:
    """Return a value as TOML; a list longer than `width` has one item per line.

    Raises:
        TypeError: for values that entries do not have.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, (int, float)):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, (list, tuple)):
        items = [value_text(one) for one in value]
        flat = f"[{', '.join(items)}]"
        return flat if len(flat) <= width or len(items) == 1 else _wrap_list(items)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(one)}" for key, one in value.items()) + " }"
    raise TypeError(type(value).__name__)


def _wrap_list(items: Sequence[str]) -> str:
    """Return a list over several lines, each filled up to the width."""
    lines = ["  "]
    for item in items:
        if lines[-1].strip() and len(lines[-1]) + len(item) + 2 > WIDTH:
            lines.append("  ")
        lines[-1] += ("" if lines[-1] == "  " else " ") + f"{item},"
    return "\n".join(["[", *lines, "]"])


def string_text(text: str) -> str:
    """Return a text as a TOML string, with several lines if the text has several, and without
    escapes if possible."""
    plain = all(char.isprintable() or char in "\n\t" for char in text)
    if "\n" in text and plain and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''"
    if ('"' in text or "\\" in text) and plain and "'" not in text and "\n" not in text:
        return f"'{text}'"
    # JSON escapes as TOML does, but for DEL, and for surrogates, which no text of TOML has
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def entry_text(entry: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """Return a [[known]] table as text, with comments above it; empty values are left out."""
    lines = [*(f"# {line}" for line in comments), "[[known]]"]
    for key in sorted(entry, key=rank):
        value = entry[key]
        if key != "counterexample" and value not in ("", (), [], None):
            lines.append(assignment(key, value))
    shown = entry.get("counterexample")
    if shown:
        lines.append("[known.counterexample]")
        lines += [assignment(key, shown[key]) for key in INNER if shown.get(key)]
    return "\n".join(lines) + "\n"


def assignment(key: str, value: Any) -> str:
    """Return the line or lines that assign a value to a key."""
    return f"{key} = {value_text(value, WIDTH - len(key) - 3)}"

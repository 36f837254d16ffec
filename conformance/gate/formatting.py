"""The canonical layout of expectation files, which keeps all comments: `expectations fmt`.

A file is split into tables, and these into statements, each with the comments above it. Entries
keep their order, because it has a meaning. Keys are sorted, and values written in one form. A value
with comments inside, or a key with dots, is unchanged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from conformance.gate.layout import INNER, ORDER, assignment, rank

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_LONG = ('"""', "'''")


@dataclass(slots=True)
class _Table:
    """A table: the comments above it, its header ("" before the first header) with the comment
    behind it, and its statements, each with the comments above it.
    """

    above: list[str]
    header: str = ""
    behind: str = ""
    statements: list[tuple[list[str], str]] = field(default_factory=list["tuple[list[str], str]"])


class NotFormatted(Exception):
    """Raised for a file whose layout cannot be changed without changing its meaning."""


def format_text(text: str) -> str:
    """Return a file's text in canonical layout.

    Raises:
        NotFormatted: if that would change its meaning.
        tomllib.TOMLDecodeError: if it is not TOML.
    """
    before = tomllib.loads(text)
    tables, rest = _tables(text.splitlines())
    parts = [part for part in map(_write_table, tables) if part]
    if comments := "\n".join(_tidy(rest)):
        parts.append(f"\n{comments}" if parts else comments)
    whole = ("\n".join(parts) + "\n").lstrip("\n") if parts else ""
    if tomllib.loads(whole) != before:
        raise NotFormatted("it is written in a way that cannot be put in order; nothing is changed")
    return whole


def _tables(lines: Sequence[str]) -> tuple[list[_Table], list[str]]:
    """Return the tables of a file, and the comments after the last statement."""
    tables, above = [_Table([])], list[str]()
    left = iter(lines)
    for line in left:
        if not line.strip() or line.lstrip().startswith("#"):
            above.append(line.strip())
            continue
        if header := _HEADER.match(line):
            name = re.sub(r"\s*\.\s*", ".", header[2])
            tables.append(_Table(above, header[1] + name + "]" * len(header[1]), header[3] or ""))
        else:
            tables[-1].statements.append((above, _statement(line, left)))
        above = []
    return tables, above


def _statement(first: str, lines: Iterator[str]) -> str:
    """Return the shortest text, beginning with a line, that is a statement of TOML."""
    text = first
    while _read(text) is None:
        text += "\n" + next(lines)
    return text


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _tidy(lines: Sequence[str]) -> list[str]:
    """Return comments with at most one empty line between them, and none at either end."""
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return text.split("\n") if text else []


def _write_table(table: _Table) -> str:
    inner = table.header.count(".") > 0
    order = INNER if table.header == "[known.counterexample]" else ("include", *ORDER)
    lines: list[str] = []
    if table.header:
        comments = _tidy(table.above)
        gap = [""] if comments and not table.above[-1] and not inner else []
        lines += [*comments, *gap, "  ".join(filter(None, (table.header, table.behind)))]
    for above, text in sorted(
        table.statements, key=lambda statement: rank(_key(statement[1]), order)
    ):
        comments = [line for line in _tidy(above) if line or not table.header]
        is_apart = comments and not table.header and not above[-1]
        lines += [*comments, *([""] if is_apart else []), _write_statement(text)]
    return "\n".join(["", *lines] if lines and table.header and not inner else lines)


def _key(statement: str) -> str:
    return statement.partition("=")[0].strip()


def _write_statement(text: str) -> str:
    """Return a statement in canonical form, with the comment behind it."""
    read = _read(text)
    ends = (found.start() for found in re.finditer("#", text))
    end = next((at for at in ends if _read(text[:at]) == read), len(text))
    key, value = _key(text), text[:end].partition("=")[2].strip()
    written = f"{key} = {value}"
    ((name, found),) = (read or {}).items()
    has_comment = value.count("#") > str(found).count("#")
    if "." not in key and not value.startswith(_LONG) and not has_comment:
        with suppress(TypeError):
            written = assignment(name, found)
    return "  ".join(filter(None, (written, text[end:].strip())))

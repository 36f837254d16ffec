"""The canonical layout of expectation files, which keeps all comments: `expectations fmt`.

A file is split into tables, and these into statements, each with the comments above it. Entries
keep their order, because it has a meaning. Keys are sorted, and values written in one form. A value
with comments inside, or a key with dots, is unchanged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.gate.layout import INNER, ORDER, assignment, rank

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=\s*")
_STRING = re.compile(r'"""|\'\'\'|"|\'')
_LONG = ('"""', "'''")


@dataclass(slots=True)
class _Statement:
    """A key with its value as written, the comments above it, and the comment after it."""

    key: str
    value: str
    above: list[str]
    behind: str = ""


@dataclass(slots=True)
class _Table:
    """A table: its header ("" before the first header), the comments above it, and its
    statements.
    """

    header: str
    above: list[str]
    behind: str = ""
    statements: list[_Statement] = field(default_factory=list["_Statement"])


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
    tables = [_Table("", [])]
    above: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            above.append(line.strip())
        elif header := _HEADER.match(line):
            name = re.sub(r"\s*\.\s*", ".", header[2])
            closing = "]" * len(header[1])
            tables.append(_Table(header[1] + name + closing, above, header[3] or ""))
            above = []
        else:
            key = _KEY.match(line)
            if key is None:
                raise NotFormatted(f"line {at} is neither a key nor a table; nothing is changed")
            value, behind, at = _value(line[key.end() :], lines, at)
            tables[-1].statements.append(_Statement(key[1], value, above, behind))
            above = []
    return tables, above


def _value(first: str, lines: Sequence[str], at: int) -> tuple[str, str, int]:
    """Return a value, which may have several lines, the comment after it, and the number of the
    next line."""
    text = first
    while (end := _end(text)) is None:
        text += "\n" + lines[at]
        at += 1
    return text[:end].rstrip(), text[end:].strip(), at


def _end(text: str) -> int | None:
    """Return the end of the value at the beginning of a text; None if it continues."""
    depth, at = 0, 0
    while at < len(text):
        char = text[at]
        if quote := _STRING.match(text, at):
            end = _string_end(text, at, quote[0])
            if end is None:
                return None
            at = end
            continue
        if char == "#":
            if not depth:
                return at
            at = text.find("\n", at)
            if at < 0:
                return None
        depth += (char in "[{") - (char in "]}")
        at += 1
    return len(text) if not depth else None


def _string_end(text: str, at: int, quote: str) -> int | None:
    """Return the position after a string that begins at `at`; None if it continues."""
    inside = at + len(quote)
    while (end := text.find(quote, inside)) >= 0:
        backslashes = len(text[:end]) - len(text[:end].rstrip("\\"))
        if quote[0] == "'" or backslashes % 2 == 0 or end - backslashes < at + len(quote):
            end += len(quote)
            while quote in _LONG and text[end : end + 1] == quote[0]:  # quotes before the end
                end += 1
            return end
        inside = end + 1
    return None


def _tidy(lines: Sequence[str]) -> list[str]:
    """Return comments with at most one empty line between them, and none at either end."""
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return found


def _write_table(table: _Table) -> str:
    inner = table.header.count(".") > 0
    order = INNER if table.header == "[known.counterexample]" else ("include", *ORDER)
    lines: list[str] = []
    if table.header:
        comments = _tidy(table.above)
        gap = [""] if comments and table.above and not table.above[-1] and not inner else []
        behind = f"  {table.behind}" if table.behind else ""
        lines += [*comments, *gap, table.header + behind]
    for one in sorted(table.statements, key=lambda s: rank(s.key, order)):
        comments = [line for line in _tidy(one.above) if line or not table.header]
        is_apart = comments and not table.header and not one.above[-1]
        lines += [*comments, *([""] if is_apart else []), _line(one)]
    if not lines:
        return ""
    return "\n".join(["", *lines] if table.header and not inner else lines)


def _line(one: _Statement) -> str:
    behind = f"  {one.behind}" if one.behind else ""
    return _plain_statement(one) + behind


def _plain_statement(one: _Statement) -> str:
    kept = f"{one.key} = {one.value}"
    value = tomllib.loads(kept)
    is_long = one.value.startswith(_LONG)
    if "." in one.key or is_long or any(_comments(one.value)):
        return kept
    ((key, found),) = value.items()
    try:
        return assignment(key, found)
    except TypeError:
        return kept


def _comments(value: str) -> Iterator[str]:
    """Yield the comments inside a value."""
    at = 0
    while at < len(value):
        if quote := _STRING.match(value, at):
            at = _string_end(value, at, quote[0]) or len(value)
            continue
        if value[at] == "#":
            yield value[at:]
        at += 1

"""Strings, comments and locations in MLIR text: the parts that do not belong to the program.

Searches for a spelling look at the text without these: the name of a source file or a comment must
not be read as an operation.

Source: MLIR language reference, "Top level productions", "Location attributes".
"""

from __future__ import annotations

import re

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_TOKEN = re.compile(rf"(?P<string>{_STRING})(?P<op>(?=\s*\())?|(?P<comment>//[^\n]*)")
_OP_NAME = re.compile(r'"[a-z_]\w*(?:\.[\w$.]+)+"', re.ASCII)
_KEPT = re.compile(r'"\0(\d+)"|//\0(\d+)')
_LOCATION = re.compile(r"\bloc\(|#\w+ *= *loc\(")


def blank_strings(text: str) -> str:
    """Return the text with spaces for comments and the contents of strings; positions are
    unchanged.

    Names of operations in generic form, which are strings, stay.
    """

    def blank_match(match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return " " * len(match[0])
        if match["op"] is not None and _OP_NAME.fullmatch(match["string"]):
            return match[0]
        return '"' + " " * (len(match[0]) - 2) + '"'

    return _TOKEN.sub(blank_match, text)


def comments(text: str) -> list[str]:
    """Return the comments of a text, each from its `//` to the end of the line."""
    return [found[0] for found in _TOKEN.finditer(text) if found["comment"] is not None]


def extract_strings(text: str) -> tuple[str, list[str]]:
    """Return the text with a number for each distinct string and comment, and the list of these.

    Names of operations in generic form stay. `restore_strings` is the inverse.
    """
    numbers: dict[str, int] = {}

    def number_match(match: re.Match[str]) -> str:
        if match["op"] is not None and _OP_NAME.fullmatch(match["string"]):
            return match[0]
        number = numbers.setdefault(match[0], len(numbers))
        return f"//\0{number}" if match["comment"] is not None else f'"\0{number}"'

    return _TOKEN.sub(number_match, text), list(numbers)


def restore_strings(text: str, aside: list[str]) -> str:
    """Return the text with the strings and comments restored that `extract_strings` replaced."""
    return _KEPT.sub(lambda found: aside[int(found[1] or found[2])], text)


def remove_locations(text: str) -> str:
    """Return the text with spaces for its locations, so that MLIR reports positions in it."""
    code = blank_strings(text)
    parts: list[str] = []
    done = 0
    for found in _LOCATION.finditer(code):
        if found.start() < done:
            continue
        end = _closing_parenthesis(code, found.end())
        kept = text[done : found.start()]
        parts += [kept, re.sub(r"[^\n]", " ", text[found.start() : end])]
        done = end
    return "".join([*parts, text[done:]])


def _closing_parenthesis(code: str, begin: int) -> int:
    """Return the position of the parenthesis that closes the parenthesis before `begin`."""
    depth = 1
    for found in re.compile(r"[()]").finditer(code, begin):
        depth += 1 if found[0] == "(" else -1
        if not depth:
            return found.end()
    return len(code)

"""Links between pages: relative links that lead to no file, or to no heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from docs.tools.pages import PAGES, ROOT

_FENCE = re.compile(r"^ *`{3,}[^\n]*\n.*?^ *`{3,} *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*?)(?: +\{#([\w-]+)\})?$", re.MULTILINE)
_ID = re.compile(r'\bid="([\w-]+)"')


def dead_links(path: Path, text: str, generated: Mapping[str, Callable[[], str]]) -> Iterator[str]:
    """Yield the relative links of a page that lead nowhere.

    `generated` are functions that return the text of generated pages, by the names of their files
    in docs/. They exist on the site, and not in the repository: only pages of docs/ may link to
    them.
    """
    plain = _FENCE.sub("", text)
    for link in _LINK.findall(plain):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if target == path:
            content = text
        elif path.parent == target.parent == PAGES and target.name in generated:
            content = generated[target.name]()
        elif target.is_file() and target.name not in generated:
            content = target.read_text("utf-8") if target.suffix == ".md" else ""
        elif target.is_dir() and target.is_relative_to(ROOT):
            content = ""
        else:
            yield link
            continue
        if anchor and anchor not in anchors(content):
            yield link


def anchors(text: str) -> set[str]:
    """Return the anchors of a page: its headings and the ids of its elements."""
    plain = _FENCE.sub("", text)
    named = {own or _slug(title) for title, own in _HEADING.findall(plain)}
    return named | {*_ID.findall(plain)}


def _slug(title: str) -> str:
    """Return the anchor that Python-Markdown gives a heading."""
    words = re.sub(r"[^\w\s-]", "", title).strip().lower()
    return re.sub(r"[-\s]+", "-", words)

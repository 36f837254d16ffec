"""The site: built without a warning, complete, and readable without a network."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.tools.pages import PAGES, ROOT

CONFIGURATION = ROOT / "zensical.toml"


def entries(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values():
            yield from [target] if isinstance(target, str) else entries(target)


def test_the_navigation_has_every_page_once() -> None:
    nav = tomllib.loads(CONFIGURATION.read_text())["project"]["nav"]
    assert sorted(entries(nav)) == sorted(page.name for page in PAGES.glob("*.md"))


@pytest.mark.slow
def test_the_site_has_pages_and_no_program(site: Path) -> None:
    assert {page.stem for page in PAGES.glob("*.md")} <= {page.stem for page in site.glob("*.html")}
    assert not [*site.rglob("*.py")]


@pytest.mark.slow
def test_pages_fetch_nothing_from_other_hosts(site: Path) -> None:
    """Links may lead to other sites; scripts, styles, fonts and pictures may not."""
    fetched = re.compile(
        r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\s>]+"
        r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*\bhref=[\"']?(?:https?:)?//[^\s>]+"
    )
    for page in site.rglob("*.html"):
        assert fetched.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), (
            sheet
        )

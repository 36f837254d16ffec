"""The site: pages, navigation, search, no requests to other hosts."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

from docs.tools.generated import PAGES_BY_NAME
from docs.tools.pages import PAGES, ROOT
from suites.meta.reports.browsing import SIZES, resize, script, wait

CONFIGURATION = ROOT / "zensical.toml"


def entries(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values():
            yield from [target] if isinstance(target, str) else entries(target)


NAMES = sorted({page.name for page in PAGES.glob("*.md")} | PAGES_BY_NAME.keys())
"""The pages of the site."""


def test_the_navigation_has_every_page_once() -> None:
    nav = tomllib.loads(CONFIGURATION.read_text())["project"]["nav"]
    assert sorted(entries(nav)) == NAMES


@pytest.mark.slow
def test_the_site_has_pages_and_no_program(site: Path) -> None:
    assert {Path(name).stem for name in NAMES} <= {page.stem for page in site.glob("*.html")}
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


pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(browser_of_size: Callable[[tuple[int, int]], webdriver.Chrome]) -> webdriver.Chrome:
    driver = browser_of_size(SIZES["desk"])
    for kind in ("browser", "performance"):  # of pages that other tests have opened
        driver.get_log(kind)
    return driver


def test_pages_fit_and_fetch_nothing(browser: webdriver.Chrome, site: Path) -> None:
    for page in map(Path, NAMES):
        browser.get((site / f"{page.stem}.html").as_uri())
        for name, size in SIZES.items():
            resize(browser, size)
            wait(browser, f"innerWidth === {size[0]}")
            wide = "return document.documentElement.scrollWidth - innerWidth"
            assert script(browser, wide) <= 0, (page.name, name)
        assert browser.get_log("browser") == [], page.name
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {
        event["params"]["request"]["url"].partition(":")[0]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert "file" in asked
    assert not asked & {"http", "https", "ws", "wss"}


SEARCH = """const host = [...document.querySelectorAll('*')].find((one) => one.shadowRoot);
            const root = host?.shadowRoot;"""
"""The root of the search dialog, which hides in a shadow tree."""


@pytest.mark.parametrize("size", SIZES)
def test_search_works_without_a_server(browser: webdriver.Chrome, site: Path, size: str) -> None:
    resize(browser, SIZES[size])
    browser.get((site / "index.html").as_uri())
    wait(browser, "document.querySelector('.md-search__button')")
    script(browser, "document.querySelector('.md-search__button').click()")
    wait(browser, f"(() => {{ {SEARCH} return root?.activeElement?.tagName === 'INPUT' }})()")
    for letter in "unspecified":
        ActionChains(browser).send_keys(letter).perform()
    links = "[...root.querySelectorAll('a')].map((one) => one.href)"
    found = f"{links}.some((one) => one.includes('divergences.html#unspecified'))"
    wait(browser, f"(() => {{ {SEARCH} return {found} }})()")
    assert browser.get_log("browser") == []

"""The site in a browser, opened as files: it fits a phone, fetches nothing, can be searched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

from docs.tools.pages import PAGES
from suites.meta.reports.browsing import SIZES, resize, script, wait

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(browser_of_size: Callable[[tuple[int, int]], webdriver.Chrome]) -> webdriver.Chrome:
    driver = browser_of_size(SIZES["desk"])
    for kind in ("browser", "performance"):  # of pages that other tests have opened
        driver.get_log(kind)
    return driver


def test_pages_fit_and_fetch_nothing(browser: webdriver.Chrome, site: Path) -> None:
    for page in sorted(PAGES.glob("*.md")):
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

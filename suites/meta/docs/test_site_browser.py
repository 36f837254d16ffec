"""The site in a browser, opened as files: it fits a phone, fetches nothing, can be searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

from docs.tools.pages import PAGES
from suites.meta.reports.browsing import SIZES, open_browser, script, wait

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=SIZES)
def browser(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[webdriver.Chrome]:
    driver = open_browser(SIZES[request.param], tmp_path_factory.mktemp("profile"))
    try:
        yield driver
    finally:
        driver.quit()


def test_pages_fit_and_fetch_nothing(browser: webdriver.Chrome, site: Path) -> None:
    for page in sorted(PAGES.glob("*.md")):
        browser.get((site / f"{page.stem}.html").as_uri())
        wide = "return document.documentElement.scrollWidth - innerWidth"
        assert script(browser, wide) <= 0, page.name
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


def test_search_works_without_a_server(browser: webdriver.Chrome, site: Path) -> None:
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

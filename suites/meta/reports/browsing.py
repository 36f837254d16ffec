"""A headless Chromium, and helpers for tests of pages."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

SIZES = {"phone": (375, 812), "desk": (1440, 900)}
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
NAMES = {"chromium": ("chromium", "chromium-browser"), "chromedriver": ("chromedriver",)}


def tool(name: str) -> str:
    """Return Debian's Chromium or its driver; without it the tests skip, but in CI they fail."""
    found = next(filter(None, map(shutil.which, NAMES[name])), None)
    if found is None:
        message = f"{name} is missing: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return found


def open_browser(profile: Path) -> webdriver.Chrome:
    """Open a browser, which the caller quits."""
    options = webdriver.ChromeOptions()
    options.binary_location = tool("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(tool("chromedriver")))
    driver.set_page_load_timeout(60)
    return driver


def resize(driver: webdriver.Chrome, size: tuple[int, int]) -> None:
    """Give the browser this width and height."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def go(browser, folder: Path, name: str = "full", fragment: str = "") -> None:
    """Load a report again, from any state of the browser."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get((folder / name / "index.html").as_uri() + fragment)
    wait(browser, "document.readyState === 'complete'")


def script(browser, body: str, *arguments):
    return browser.execute_script(body, *arguments)


def wait(browser, condition: str, *arguments) -> None:
    """Wait until a JavaScript expression is true, at most ten seconds."""
    deadline = time.monotonic() + 10
    while not script(browser, f"return Boolean({condition})", *arguments):
        assert time.monotonic() < deadline, f"never true: {condition}"
        time.sleep(0.02)


def count_visible(browser, selector: str) -> int:
    body = """return [...document.querySelectorAll(arguments[0])]
                     .filter(e => e.checkVisibility()).length"""
    return script(browser, body, selector)


def open_everything(browser) -> None:
    """Open all that is folded, until nothing folded is left."""
    body = """const closed = [...document.querySelectorAll('details:not([open])')];
              closed.forEach(d => { d.open = true }); return closed.length"""
    for _ in range(6):
        if not script(browser, body):
            return
        time.sleep(0.2)


def requested_addresses(browser) -> list[str]:
    """Return the addresses that the page asked for, from the browser's own log."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def lit_cells(browser) -> list[str]:
    """Return the cells in one backend's matrix that are not dimmed."""
    body = "return [...document.querySelectorAll('.matrix .c:not(.dim)')].map(e => e.dataset.k)"
    return script(browser, body)


def fragment(browser) -> str:
    return script(browser, "return location.hash")

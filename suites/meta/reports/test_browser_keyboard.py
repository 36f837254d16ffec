"""Keyboard, contrast and printing of the HTML report in Chromium."""

import base64
import re
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from suites.meta.reports.browsing import (
    count_visible,
    fragment,
    go,
    script,
    wait,
)

pytestmark = pytest.mark.browser


def focused_key(browser) -> str:
    return script(browser, "return document.activeElement.dataset.k ?? ''")


def press(browser, *keys: str) -> None:
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def test_keyboard_moves_in_the_matrix_opens_and_closes(browser, folder):
    go(browser, folder, fragment="#matrix=cpu")
    script(browser, "document.querySelector('.matrix .c[tabindex=\"0\"]').focus()")
    first = focused_key(browser)
    assert first == "abs/si2/cpu"
    press(browser, Keys.ARROW_RIGHT)
    assert focused_key(browser) == "abs/si4/cpu"
    press(browser, Keys.ARROW_DOWN)
    assert focused_key(browser) == "add/si4/cpu"
    press(browser, Keys.HOME)
    assert focused_key(browser) == "add/i1/cpu"
    press(browser, Keys.ARROW_LEFT)
    assert focused_key(browser) == "add/i1/cpu"
    press(browser, Keys.END)
    assert focused_key(browser) == "add/complex<f64>/cpu"
    tabbable = (
        "return document.querySelector('.matrix').querySelectorAll('.c[tabindex=\"0\"]').length"
    )
    assert script(browser, tabbable) == 1
    inside = """const c = document.activeElement.getBoundingClientRect();
                return c.left >= 0 && c.right <= innerWidth
                       && c.top >= 0 && c.bottom <= innerHeight"""
    assert script(browser, inside)
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert script(browser, outline) == "solid"
    press(browser, Keys.ENTER)
    wait(browser, "document.getElementById('detail').open")
    assert fragment(browser) == "#matrix=cpu&cell=" + quote("add/complex<f64>/cpu", safe="")
    press(browser, Keys.ESCAPE)
    wait(browser, "!document.getElementById('detail').open")
    wait(browser, "location.hash === '#matrix=cpu'")
    assert focused_key(browser) == "add/complex<f64>/cpu"


def test_slash_focuses_search_and_first_tab_is_skip_link(browser, folder):
    go(browser, folder)
    press(browser, Keys.TAB)
    assert script(browser, "return document.activeElement.className") == "skip"
    press(browser, "/")
    assert script(browser, "return document.activeElement.id") == "q"
    press(browser, "/")
    assert script(browser, "return document.getElementById('q').value") == "/"


def test_copy_button_confirms(browser, folder):
    go(browser, folder)
    script(browser, "document.querySelector('.about').open = true")
    button = browser.find_element(By.CSS_SELECTOR, ".top .copy")
    script(browser, "arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    wait(browser, "document.querySelector('.top .copy').textContent === 'Copied'")
    wait(browser, "document.querySelector('.top .copy').textContent === 'Copy'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_schemes(browser, folder, scheme):
    """WCAG's 4.5:1 for the sign and the number of every kind of cell, and for running text."""
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    go(browser, folder)
    body = """
      const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
      const rgb = (under, color) => { canvas.clearRect(0, 0, 1, 1);
        for (const c of [under, color]) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
      const light = (c) => c.map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const paper = getComputedStyle(document.documentElement).backgroundColor;
      const found = {};
      const kinds = '.legend .key, .hint, .lead, dt, .group .where, .standings small, .side td.o';
      for (const e of document.querySelectorAll(kinds)) {
        const style = getComputedStyle(e);
        const own = e.matches('.key') ? style.backgroundColor : 'transparent';
        const [a, b] = [light(rgb(paper, own)), light(rgb(paper, style.color))];
        const name = e.className || e.parentElement.className || e.tagName;
        found[name] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }
      return found;"""
    ratios = script(browser, body)
    assert len(ratios) > 14
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def pages_of(browser) -> int:
    made = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(made["data"])))


@pytest.mark.parametrize("backends", [1, 3])
def test_prints_on_few_pages_without_controls(browser, folder, backends):
    go(browser, folder, f"large-{backends}")
    assert pages_of(browser) <= 5
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert count_visible(browser, ".filters, .copy, .levels") == 0
    assert count_visible(browser, ".standings tbody tr") == backends
    assert count_visible(browser, ".side td.o") > 200
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

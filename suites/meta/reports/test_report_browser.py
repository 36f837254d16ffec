"""The HTML report in a real headless Chromium, at the width of a phone and of a desk."""

import json
import os
import shutil
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conformance.catalog import CATALOG
from conformance.verdict import Verdict
from reports import html, view
from reports.campaigns.page import write_to
from suites.meta.reports.test_campaign_page import DATA
from suites.meta.support import synthetic_run as synthetic

pytestmark = pytest.mark.browser

SIZES = {"phone": (375, 812), "desk": (1440, 900)}
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
NAMES = {"chromium": ("chromium", "chromium-browser"), "chromedriver": ("chromedriver",)}


def tool(name: str) -> str:
    """Where Debian's Chromium or its driver is; without it the tests skip, but in CI they fail."""
    found = next(filter(None, map(shutil.which, NAMES[name])), None)
    if found is None:
        message = f"{name} is missing: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return found


@pytest.fixture(scope="module", params=SIZES)
def size(request) -> tuple[int, int]:
    return SIZES[request.param]


@pytest.fixture(scope="module")
def browser(size, tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = tool("chromium")
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(tool("chromedriver")))
    try:
        driver.set_page_load_timeout(60)
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def full():
    return synthetic.run("full")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    for name in synthetic.RUNS:
        (made / name).mkdir()
        content = synthetic.page(name).encode("utf-8", "backslashreplace")
        (made / name / "index.html").write_bytes(content)
    return made


def go(browser, folder: Path, name: str = "full", fragment: str = "") -> None:
    """Load a report anew, whatever was there before."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get((folder / name / "index.html").as_uri() + fragment)
    wait(browser, "document.readyState === 'complete'")


def script(browser, body: str, *arguments):
    return browser.execute_script(body, *arguments)


def wait(browser, condition: str, *arguments) -> None:
    """Until the JavaScript expression is true; ten seconds at most."""
    deadline = time.monotonic() + 10
    while not script(browser, f"return Boolean({condition})", *arguments):
        assert time.monotonic() < deadline, f"never true: {condition}"
        time.sleep(0.02)


def shown(browser, selector: str) -> int:
    body = "return [...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent).length"
    return script(browser, body, selector)


def lit_cells(browser) -> list[str]:
    body = """return [...document.querySelectorAll('.matrix .c:not(.dim)')]
                     .filter(e => e.offsetParent).map(e => e.dataset.k)"""
    return script(browser, body)


def choose(browser, name: str, value: str) -> None:
    body = """const s = document.getElementById(arguments[0]); s.value = arguments[1];
              s.dispatchEvent(new Event('change', {bubbles: true}))"""
    script(browser, body, name, value)


def fragment(browser) -> str:
    return script(browser, "return location.hash")


def focused(browser) -> str:
    return script(browser, "return document.activeElement.dataset.k ?? ''")


def press(browser, *keys: str) -> None:
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def requested(browser) -> list[str]:
    """The addresses that the page asked for, from the browser's own log."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("name", synthetic.RUNS)
def test_loads_without_errors_or_requests(browser, folder, size, name):
    go(browser, folder, name)
    wait(browser, "document.querySelector('.matrix .c[tabindex=\"0\"]')")
    script(browser, "document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.get_log("browser") == []
    address = (folder / name / "index.html").as_uri()
    assert [url for url in requested(browser) if not url.startswith("data:")] == [address]
    assert script(browser, "return performance.getEntriesByType('resource').length") == 0
    assert script(browser, "return window.pwned === undefined")
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scroll, client = script(browser, widths)
    assert scroll <= client <= size[0]


def test_counts_against_a_baseline_are_links_on_the_first_screen(browser, tmp_path, size):
    (tmp_path / "worse").mkdir()
    (tmp_path / "worse" / "index.html").write_text(synthetic.worse_page())
    go(browser, tmp_path, "worse")
    links = browser.find_elements(By.CSS_SELECTOR, ".against a")
    kinds = ["new", "lost", "fixed", "gained", "changed in error"]
    assert [link.text.partition(" ")[2] for link in links] == kinds
    assert all(
        link.rect["y"] > 0 and link.rect["y"] + link.rect["height"] < size[1] for link in links
    )
    for link in links[:3]:
        assert int(link.text.partition(" ")[0].replace(",", "")) > 0
        browser.execute_script("scrollTo(0, 0)")
        link.click()
        target = link.get_attribute("href").partition("#")[2]
        body = "return document.getElementById(arguments[0]).getBoundingClientRect().top"
        assert 0 <= script(browser, body, target) < size[1]
    row = browser.find_element(By.CSS_SELECTOR, "#changes .changes a")
    browser.execute_script("arguments[0].click()", row)
    wait(browser, "document.getElementById('cell').open")
    scroll, client = script(browser, "const d = document.documentElement;"
                                     "return [d.scrollWidth, d.clientWidth]")  # fmt: skip
    assert scroll <= client
    assert browser.get_log("browser") == []


def test_policy_forbids_fetching_and_inline_handlers_stay_dead(browser, folder):
    go(browser, folder, "passing")
    blocked = script(
        browser,
        """return new Promise(done => {
             addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
             const img = new Image(); img.src = 'file:///etc/hostname';
             setTimeout(done, 5000) })""",
    )
    assert blocked == "img-src"


def test_matrix_scrolls_within_itself_on_a_phone_and_keeps_its_heads(browser, folder, size):
    go(browser, folder)
    body = """const m = document.querySelector('.matrix');
              const h = m.querySelector('tbody th[scope=row]');
              const t = m.querySelector('thead th.col');
              m.scrollLeft = 300; m.scrollTop = 200;
              return [m.scrollWidth > m.clientWidth, h.getBoundingClientRect().left,
                      m.scrollTop ? t.getBoundingClientRect().top
                                    - m.getBoundingClientRect().top : 0, m.scrollLeft]"""
    wider, left, top, moved = script(browser, body)
    if size == SIZES["phone"]:
        assert (wider, moved) == (True, 300)
        assert 0 <= left < 20
        assert abs(top) < 4
    else:
        assert (wider, moved) == (False, 0)


def test_verdict_filter_changes_what_is_shown(browser, folder, full):
    go(browser, folder)
    before = len(lit_cells(browser))
    assert before == len(full.planned)
    choose(browser, "verdict", "crashed")
    crashed = {(r.op, r.element_type) for r in full.records if r.verdict is Verdict.CRASHED}
    assert {tuple(key.split("/")[:2]) for key in lit_cells(browser)} == crashed
    assert shown(browser, ".group") == shown(browser, ".group[data-verdict=crashed]") > 0
    assert shown(browser, "details.op") == len({op for op, _ in crashed})
    assert fragment(browser) == "#verdict=crashed"
    assert f"{len(crashed)} of {before:,}" in browser.find_element(By.ID, "shown").text
    browser.find_element(By.ID, "clear").click()
    wait(browser, "location.hash === ''")
    assert len(lit_cells(browser)) == before


def test_family_type_and_failure_filters_combine(browser, folder, full):
    go(browser, folder)
    choose(browser, "family", "elementary functions")
    choose(browser, "type", "bf16")
    rows = {op.name for op in view.build(full).ops if op.family == "elementary functions"}
    keys = lit_cells(browser)
    assert {key.split("/")[0] for key in keys} == rows
    assert {key.split("/")[1] for key in keys} == {"bf16"}
    assert shown(browser, ".matrix th.col") == 1
    assert shown(browser, ".finding:not([data-family='elementary functions'])") == 0
    browser.find_element(By.ID, "fail").click()
    failing = {r.op for r in full.records if r.verdict.fails and r.element_type == "bf16"}
    assert {key.split("/")[0] for key in lit_cells(browser)} == failing & rows
    assert fragment(browser) == "#family=elementary+functions&type=bf16&fail=1"


def test_only_new_hides_what_is_known(browser, folder):
    go(browser, folder)
    browser.find_element(By.ID, "new").click()
    assert shown(browser, ".group[data-new='0']") == 0
    assert shown(browser, ".group[data-new='1']") > 0
    assert shown(browser, ".status") == 1
    assert lit_cells(browser)


def unfolded(browser, selector: str) -> int:
    body = "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())"
    return len(script(browser, body, selector))


def test_what_is_known_is_folded_until_a_filter_finds_it(browser, folder):
    go(browser, folder)
    assert unfolded(browser, ".status") == 3
    assert unfolded(browser, ".group[data-new='1']") > 0
    assert unfolded(browser, ".group[data-new='0']") == 0
    choose(browser, "type", "bf16")
    assert unfolded(browser, ".group[data-new='0']") > 0
    choose(browser, "type", "")
    assert unfolded(browser, ".group[data-new='0']") == 0


def test_programs_change_their_form_together(browser, tmp_path):
    html.render(synthetic.run("full"), tmp_path)
    go(browser, tmp_path.parent, tmp_path.name)
    script(browser, "document.querySelectorAll('details').forEach(d => { d.open = true })")
    both = shown(browser, "pre.pretty"), shown(browser, "pre.generic")
    assert both[0] > 10
    assert both[1] == 0
    toggle = browser.find_element(By.ID, "generic")
    script(browser, "arguments[0].click()", toggle)
    assert (shown(browser, "pre.generic"), shown(browser, "pre.pretty")) == both
    assert toggle.get_attribute("aria-pressed") == "true"


def test_search_finds_text_of_programs_and_messages(browser, folder, full):
    go(browser, folder)
    late = {r.op for r in full.records if r.verdict is Verdict.TIMED_OUT}
    op = next(o for o in sorted(late) if not any(n != o and n.startswith(o) for n in CATALOG))
    box = browser.find_element(By.ID, "q")
    box.send_keys(f"stablehlo.{op} timed out")
    wait(browser, "location.hash.includes('q=')")
    assert shown(browser, ".finding") == shown(browser, f".finding[data-op={op}]") > 0
    assert {key.split("/")[0] for key in lit_cells(browser)} == {op}
    box.clear()
    box.send_keys("no such thing")
    wait(browser, "document.querySelector('#none-shown:not([hidden])')")
    assert lit_cells(browser) == []
    assert shown(browser, ".group") == 0
    box.send_keys(Keys.ESCAPE)
    wait(browser, "location.hash === ''")
    assert shown(browser, ".group") > 0


def test_address_restores_the_state(browser, folder):
    go(browser, folder, fragment="#verdict=flushed&type=f32&fail=1&q=subnormal&cell=tanh/f32/cpu")
    wait(browser, "document.getElementById('cell').open")
    value = "return document.getElementById(arguments[0]).value"
    assert [script(browser, value, name) for name in ("verdict", "type", "q")] == [
        "flushed", "f32", "subnormal",
    ]  # fmt: skip
    assert script(browser, "return document.getElementById('fail').checked")
    assert browser.find_element(By.ID, "cell-title").text == "tanh f32"
    script(browser, "location.hash = 'verdict=pass'")
    wait(browser, "!document.getElementById('cell').open")
    assert script(browser, value, "verdict") == "pass"
    assert script(browser, value, "q") == ""


def test_unknown_states_in_the_address_do_no_harm(browser, folder):
    strange = quote("<img src=x onerror=pwned=1>")
    go(browser, folder, fragment=f"#verdict={strange}&cell=a/b/c&q=%25&type=__proto__")
    wait(browser, "document.getElementById('none-shown')")
    assert script(browser, "return window.pwned === undefined")
    go(browser, folder, fragment="#%E0%A4%A")
    wait(browser, "document.querySelector('.matrix .c[tabindex=\"0\"]')")
    assert browser.get_log("browser") == []


def test_links_lead_to_what_is_there_even_if_hidden(browser, folder):
    go(browser, folder)
    broken = script(
        browser,
        """return [...document.querySelectorAll('a[href^="#"]')]
             .filter(a => !document.getElementById(a.getAttribute('href').slice(1))).length""",
    )
    assert broken == 0
    choose(browser, "verdict", "crashed")
    target = script(
        browser, "return document.querySelector('.brief .finding, .finding[data-op=tanh]').id"
    )
    script(browser, "location.hash = arguments[0]", target)
    wait(browser, "document.getElementById(arguments[0]).offsetParent !== null", target)
    script(browser, "location.hash = 'op-tanh'")
    wait(browser, "document.getElementById('op-tanh').open")
    top = script(browser, "return document.getElementById('op-tanh').getBoundingClientRect().top")
    assert -1 <= top < 140


def test_keyboard_moves_in_the_matrix_opens_and_closes(browser, folder):
    go(browser, folder)
    script(browser, "document.querySelector('.matrix .c[tabindex=\"0\"]').focus()")
    first = focused(browser)
    assert first == "abs/si2/cpu"
    press(browser, Keys.ARROW_RIGHT)
    assert focused(browser) == "abs/si4/cpu"
    press(browser, Keys.ARROW_DOWN)
    assert focused(browser) == "add/si4/cpu"
    press(browser, Keys.HOME)
    assert focused(browser) == "add/i1/cpu"
    press(browser, Keys.ARROW_LEFT)
    assert focused(browser) == "add/i1/cpu"
    press(browser, Keys.END)
    assert focused(browser) == "add/complex<f64>/cpu"
    assert script(browser, "return document.querySelectorAll('.c[tabindex=\"0\"]').length") == 1
    inside = """const c = document.activeElement.getBoundingClientRect();
                return c.left >= 0 && c.right <= innerWidth
                       && c.top >= 0 && c.bottom <= innerHeight"""
    assert script(browser, inside)
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert script(browser, outline) == "solid"
    press(browser, Keys.ENTER)
    wait(browser, "document.getElementById('cell').open")
    assert fragment(browser) == "#cell=" + quote("add/complex<f64>/cpu", safe="")
    press(browser, Keys.ESCAPE)
    wait(browser, "!document.getElementById('cell').open")
    wait(browser, "location.hash === ''")
    assert focused(browser) == "add/complex<f64>/cpu"


def test_slash_goes_to_search_and_tab_order_starts_with_a_way_past(browser, folder):
    go(browser, folder)
    press(browser, Keys.TAB)
    assert script(browser, "return document.activeElement.className") == "skip"
    press(browser, "/")
    assert script(browser, "return document.activeElement.id") == "q"
    press(browser, "/")
    assert script(browser, "return document.getElementById('q').value") == "/"


def test_cell_detail_tells_its_numbers_and_leads_to_the_divergence(browser, folder, full):
    go(browser, folder)
    record = next(r for r in full.records if r.is_new_failure and r.verdict is Verdict.DIVERGENT)
    key = f"{record.op}/{record.element_type}/{record.backend}"
    script(browser, "document.querySelector(`[data-k='${arguments[0]}']`).click()", key)
    wait(browser, "document.getElementById('cell').open")
    said = browser.find_element(By.ID, "cell").text
    of_cell = [
        r for r in full.records if (r.op, r.element_type) == (record.op, record.element_type)
    ]
    for part in (
        f"{len(of_cell)} cases",
        "input sets",
        record.id,
        f"hlo-conformance replay {record.id}",
    ):
        assert part in said
    link = browser.find_element(By.LINK_TEXT, record.id)
    script(browser, "arguments[0].click()", link)
    wait(browser, "!document.getElementById('cell').open")
    anchor = fragment(browser).removeprefix("#")
    wait(browser, "document.getElementById(arguments[0]).offsetParent !== null", anchor)
    assert record.id in script(
        browser, "return document.getElementById(arguments[0]).textContent", anchor
    )


def test_copy_button_says_that_it_copied(browser, folder):
    go(browser, folder)
    button = browser.find_element(By.CSS_SELECTOR, ".top .copy")
    script(browser, "arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    wait(browser, "document.querySelector('.top .copy').textContent === 'Copied'")
    wait(browser, "document.querySelector('.top .copy').textContent === 'Copy'")


def test_filtered_out_rows_appear_on_demand(browser, folder):
    go(browser, folder, "passing")
    assert shown(browser, ".matrix tbody tr[data-op]") == 2
    assert shown(browser, ".matrix .s-filtered") == 0
    browser.find_element(By.ID, "show-all").click()
    assert shown(browser, ".matrix tbody tr[data-op]") == len(CATALOG)
    assert shown(browser, ".matrix .s-filtered") > 900
    browser.find_element(By.ID, "show-all").click()
    assert shown(browser, ".matrix tbody tr[data-op]") == 2


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
      const kinds = '.legend .key, .hint, .lead, dt, .group .where, .tile small';
      for (const e of document.querySelectorAll(kinds)) {
        const style = getComputedStyle(e);
        const own = e.matches('.key') ? style.backgroundColor : 'transparent';
        const [a, b] = [light(rgb(paper, own)), light(rgb(paper, style.color))];
        found[e.className || e.tagName] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }
      return found;"""
    ratios = script(browser, body)
    assert len(ratios) > 14
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_campaigns_page_fits_and_its_commands_can_be_copied(browser, tmp_path):
    (tmp_path / "full").mkdir()
    write_to(DATA, tmp_path / "full")
    go(browser, tmp_path)
    width = "return [document.documentElement.scrollWidth, innerWidth]"
    needed, given = script(browser, width)
    assert needed <= given
    assert shown(browser, "#findings article .cause dd") == 8
    marks = "return [...document.querySelectorAll('svg.pairs .met')].map(e => e.getBBox().width)"
    assert sorted(map(bool, script(browser, marks))) == [False, True, True]
    script(browser, "document.querySelector('.copy').click()")
    wait(browser, "document.querySelector('.copy').textContent === 'Copied'")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_prints_everything_opened_and_without_controls(browser, folder):
    go(browser, folder, "passing")
    script(browser, "dispatchEvent(new Event('beforeprint'))")
    assert script(browser, "return document.querySelectorAll('details.op:not([open])').length") == 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert shown(browser, ".filters, .copy, #show-all") == 0
    assert shown(browser, ".matrix .c") == 4
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

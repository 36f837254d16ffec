"""The HTML report in a real headless Chromium, of a phone and of a desk; the rules of WCAG."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conformance.catalog import CATALOG
from conformance.results.standings import status_of
from conformance.verdict import Verdict
from reports import view
from suites.meta.reports.browsing import (
    SIZES,
    count_visible,
    fragment,
    go,
    lit_cells,
    open_everything,
    requested_addresses,
    script,
    wait,
)
from suites.meta.support import synthetic_run as synthetic

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", synthetic.RUNS)
def test_loads_without_errors_or_requests(browser, folder, size, name):
    go(browser, folder, name)
    wait(browser, "document.querySelector('#tables .side, #tables .empty')")
    open_everything(browser)
    for backend in script(
        browser, "return JSON.parse(document.getElementById('data').textContent).backends"
    ):
        script(browser, "location.hash = new URLSearchParams({matrix: arguments[0]})", backend)
        wait(browser, "document.querySelector('#tables .matrix, #tables .empty')")
    assert browser.get_log("browser") == []
    address = (folder / name / "index.html").as_uri()
    assert [url for url in requested_addresses(browser) if not url.startswith("data:")] == [address]
    assert script(browser, "return performance.getEntriesByType('resource').length") == 0
    assert script(browser, "return window.pwned === undefined")
    assert_fits(browser, size)


def assert_fits(browser, size) -> None:
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scroll, client = script(browser, widths)
    assert scroll <= client <= size[0]


def test_counts_of_the_first_screen_lead_to_the_cells_that_they_count(browser, folder, full):
    for status in ("new", "known", "unsupported", "untested"):
        go(browser, folder)
        counter = browser.find_element(By.CSS_SELECTOR, f".standings .k-{status} a")
        count = int(counter.text.replace(",", ""))
        script(browser, "arguments[0].click()", counter)
        wait(browser, "document.querySelector('#tables .matrix')")
        wanted = {"/".join(key) for key, c in full.cells.items() if status_of(c) == status}
        assert set(lit_cells(browser)) == wanted
        assert len(wanted) == count > 0
        top = "return document.getElementById('matrix').getBoundingClientRect().top"
        assert abs(script(browser, top)) < 200


def test_counts_against_a_baseline_are_links_on_the_first_screen(browser, tmp_path, size):
    (tmp_path / "worse").mkdir()
    (tmp_path / "worse" / "index.html").write_text(synthetic.worse_page())
    go(browser, tmp_path, "worse")
    links = browser.find_elements(By.CSS_SELECTOR, ".standings .since a")
    kinds = ("new", "lost", "fixed")
    assert [link.get_attribute("href").rpartition("change=")[2] for link in links] == [*kinds]
    assert all(link.rect["y"] + link.rect["height"] < size[1] for link in links)
    for index, kind in enumerate(kinds):
        link = browser.find_elements(By.CSS_SELECTOR, ".standings .since a")[index]
        count = link.text
        script(browser, "arguments[0].click()", link)
        wait(browser, f"document.querySelector('[data-change={kind}]').open")
        assert count in browser.find_element(By.ID, f"changes-{kind}").text
        body = "return document.getElementById('changes').getBoundingClientRect().top"
        assert 0 <= script(browser, body) < size[1]
        assert count_visible(browser, "#changes .status[open]") == 1
    row = browser.find_element(By.CSS_SELECTOR, "#changes .changes a")
    script(browser, "arguments[0].click()", row)
    wait(browser, "document.getElementById('detail').open")
    assert_fits(browser, size)
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


def rows(browser) -> set[str]:
    """Return the ops in the matrix that is shown."""
    body = "return [...document.querySelectorAll('#tables tr[data-op]')].map(e => e.dataset.op)"
    return set(script(browser, body))


def choose(browser, name: str, value: str) -> None:
    body = """const s = document.getElementById(arguments[0]); s.value = arguments[1];
              s.dispatchEvent(new Event('change', {bubbles: true}))"""
    script(browser, body, name, value)


def test_filters_combine(browser, folder, full):
    go(browser, folder, fragment="#matrix=cpu")
    choose(browser, "family", "elementary functions")
    choose(browser, "type", "bf16")
    of_family = {op.name for op in view.build(full).ops if op.family == "elementary functions"}
    keys = lit_cells(browser)
    assert {key.split("/")[0] for key in keys} == of_family
    assert {key.split("/")[1] for key in keys} == {"bf16"}
    assert count_visible(browser, ".matrix th.col") == 1
    choose(browser, "is", "fail")
    failing = {r.op for r in full.records if r.verdict.fails and r.element_type == "bf16"}
    assert {key.split("/")[0] for key in lit_cells(browser)} == failing & of_family
    assert fragment(browser) == "#is=fail&family=elementary+functions&type=bf16&matrix=cpu"


def test_search_finds_text_of_programs_and_messages(browser, folder, full):
    go(browser, folder)
    late = {r.op for r in full.records if r.verdict is Verdict.TIMED_OUT}
    op = next(o for o in sorted(late) if not any(n != o and n.startswith(o) for n in CATALOG))
    box = browser.find_element(By.ID, "q")
    box.send_keys(f"stablehlo.{op} timed out")
    wait(browser, "location.hash.includes('q=')")
    assert rows(browser) == {op}
    assert count_visible(browser, ".group") > 0
    box.clear()
    box.send_keys("no such thing")
    wait(browser, "document.querySelector('#none-shown:not([hidden])')")
    assert rows(browser) == set()
    assert count_visible(browser, ".group") == 0
    box.send_keys(Keys.ESCAPE)
    wait(browser, "location.hash === ''")
    assert count_visible(browser, ".group") > 0


def test_address_restores_the_state(browser, folder):
    state = "#verdict=flushed&type=f32&is=fail&q=subnormal&matrix=cpu&cell=tanh/f32/cpu"
    go(browser, folder, fragment=state)
    wait(browser, "document.getElementById('detail').open")
    value = "return document.getElementById(arguments[0]).value"
    assert [script(browser, value, name) for name in ("verdict", "type", "q", "is")] == [
        "flushed", "f32", "subnormal", "fail",
    ]  # fmt: skip
    assert browser.find_element(By.ID, "detail-title").text == "tanh f32"
    script(browser, "location.hash = 'verdict=pass'")
    wait(browser, "!document.getElementById('detail').open")
    assert script(browser, value, "verdict") == "pass"
    assert script(browser, value, "q") == ""
    assert count_visible(browser, "#tables .matrix") == 0
    assert count_visible(browser, "#tables .side") > 0


def test_unknown_states_in_the_address_do_no_harm(browser, folder):
    strange = quote("<img src=x onerror=pwned=1>")
    for state in ("cell=a/b/c", "op=__proto__", "matrix=none", "alone=x", "change=y"):
        go(browser, folder, fragment=f"#verdict={strange}&q=%25&type=__proto__&{state}")
        wait(browser, "document.querySelector('#levels a')")
        assert script(browser, "return window.pwned === undefined")
        assert not script(browser, "return document.getElementById('detail').open")
    go(browser, folder, fragment="#%E0%A4%A")
    wait(browser, "document.querySelector('#tables .side')")
    go(browser, folder, fragment=f"#case={strange}")
    assert "does not hold the case" in browser.find_element(By.ID, "detail").text
    assert browser.get_log("browser") == []


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


RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
STATES = {
    "first screen": "",
    "matrix of one backend": "#matrix=gpu&family=elementary+functions",
    "filtered": "#is=known&type=f32",
    "op": "#op=exponential",
    "cell": "#cell=tanh/f32/cpu",
    "case": "#case=add-f16-cpu-8",
}


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core; without it the tests skip, but in CI they fail."""
    root = Path(__file__).parents[3]
    default = root / "node_modules" / "axe-core" / "axe.min.js"
    path = Path(os.environ.get("AXE_CORE", default))
    if not path.exists():
        message = f"axe-core is missing at {path}: npm install --no-save axe-core"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return path.read_text(encoding="utf-8")


def violations(browser, axe: str) -> list[str]:
    script(browser, axe)
    browser.set_script_timeout(60)
    found = browser.execute_async_script(
        """const done = arguments[arguments.length - 1];
           axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']})
              .then(found => done(found.violations), error => done(String(error)))""",
        RULES,
    )
    assert isinstance(found, list), found
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}"
        for one in found
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("state", STATES)
def test_no_rule_is_violated(browser, folder, axe, size, state):
    """A phone has the light scheme, a desk the dark scheme: layout and colours vary together."""
    scheme = "light" if size == SIZES["phone"] else "dark"
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    try:
        go(browser, folder, "three", STATES[state])
        wait(browser, "document.querySelector('#tables table')")
        assert violations(browser, axe) == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

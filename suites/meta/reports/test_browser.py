"""The HTML report in a real headless Chromium, at the width of a phone and of a desk."""

import pytest
from selenium.webdriver.common.by import By

from conformance.results.standings import status_of
from conformance.verdict import Verdict
from reports import html
from reports.campaigns.page import write_to
from suites.meta.reports.browsing import (
    SIZES,
    count_visible,
    go,
    lit_cells,
    open_everything,
    requested_addresses,
    script,
    wait,
)
from suites.meta.reports.campaigns.test_page import DATA
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


def count_nodes(browser) -> int:
    return script(browser, "return document.querySelectorAll('*').length")


def test_a_large_report_of_three_backends_is_drawn_on_demand(browser, folder, size):
    go(browser, folder, "large-3")
    wait(browser, "document.querySelector('#tables .side')")
    assert count_nodes(browser) < 6_000
    script(browser, "location.hash = 'matrix=gpu'")
    wait(browser, "document.querySelector('#tables .matrix')")
    assert count_nodes(browser) < 15_000
    assert_fits(browser, size)
    assert browser.get_log("browser") == []


def test_figures_fit_into_the_cells_of_a_matrix(browser, folder):
    go(browser, folder, fragment="#matrix=cpu")
    wait(browser, "document.querySelector('#tables .matrix')")
    cells = "[...document.querySelectorAll('.matrix .c')]"
    assert script(browser, f"return {cells}.filter((c) => /[0-9]/.test(c.textContent)).length") > 9
    cut = f"{cells}.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"
    assert script(browser, f"return {cut}") == []


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
    for number, kind in enumerate(kinds):
        link = browser.find_elements(By.CSS_SELECTOR, ".standings .since a")[number]
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


def test_matrix_scrolls_within_itself_on_a_phone_and_keeps_its_heads(browser, folder, size):
    go(browser, folder, fragment="#matrix=cpu")
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


def test_all_programs_change_their_form(browser, tmp_path):
    html.render(synthetic.run("full"), tmp_path)
    go(browser, tmp_path.parent, tmp_path.name)
    open_everything(browser)
    both = count_visible(browser, "pre.pretty"), count_visible(browser, "pre.generic")
    assert both[0] > 1
    assert both[1] == 0
    toggle = browser.find_element(By.ID, "generic")
    script(browser, "arguments[0].click()", toggle)
    assert (count_visible(browser, "pre.generic"), count_visible(browser, "pre.pretty")) == both
    assert toggle.get_attribute("aria-pressed") == "true"


def test_differences_are_listed_by_the_backend_that_differs(browser, folder, size):
    go(browser, folder, "large-3")
    alone = browser.find_elements(By.CSS_SELECTOR, ".standings .since a")
    assert len(alone) == 3
    count = alone[1].text
    script(browser, "arguments[0].click()", alone[1])
    wait(browser, "location.hash === '#alone=gpu'")
    chosen = browser.find_element(By.CSS_SELECTOR, "#differing .chips [aria-current]")
    assert chosen.text == f"gpu alone: {count}"
    body = """return [...new Set([...document.querySelectorAll('#differing tbody th')]
                                 .map(e => e.textContent))]"""
    assert script(browser, body) == ["gpu"]
    top = "return document.getElementById('differences').getBoundingClientRect().top"
    assert -5 <= script(browser, top) < size[1] / 2
    example = browser.find_element(By.CSS_SELECTOR, "#differing tbody td:last-child a")
    script(browser, "arguments[0].click()", example)
    wait(browser, "document.getElementById('detail').open")
    assert "hlo-conformance replay" in browser.find_element(By.ID, "detail").text
    assert_fits(browser, size)


def test_folded_sections_are_drawn_when_opened(browser, folder, size):
    go(browser, folder, "large-3")
    for name, rows_of in (("accuracy", "tbody tr"), ("near-misses", ".hint"), ("coverage", "h3")):
        assert count_visible(browser, f"#{name} {rows_of}") == 0
        script(browser, "location.hash = arguments[0]", name)
        wait(browser, f"document.querySelector('#{name} {rows_of}')")
        assert count_visible(browser, f"#{name} {rows_of}") > 0
    assert 0 < count_visible(browser, "#accuracy svg.curve") <= 6
    series = "return [...document.querySelectorAll('#accuracy .curve-legend .series')].length"
    assert script(browser, series) > 6
    assert_fits(browser, size)
    assert browser.get_log("browser") == []


def test_an_op_shows_its_types_curves_and_rule(browser, folder):
    go(browser, folder)
    script(browser, "document.querySelector('#tables tr[data-op=exponential] th a').click()")
    wait(browser, "document.getElementById('detail').open")
    assert browser.find_element(By.ID, "detail-title").text == "exponential"
    said = browser.find_element(By.ID, "detail").text
    assert "Rule" in said
    assert "elementary functions, StableHLO" in said
    assert count_visible(browser, "#detail svg.curve .dots") > 3
    lengths = "return [...document.querySelectorAll('#detail .dots')].map(e => e.getBBox().width)"
    assert all(width > 50 for width in script(browser, lengths))
    script(browser, "document.querySelector('#detail .types td a').click()")
    wait(browser, "location.hash.includes('cell=')")
    assert browser.find_element(By.ID, "detail-title").text.startswith("exponential f")


def test_cell_detail_shows_its_numbers_and_links_to_the_divergence(browser, folder, full):
    record = next(r for r in full.records if r.is_new_failure and r.verdict is Verdict.DIVERGENT)
    key = f"{record.op}/{record.element_type}/{record.backend}"
    go(browser, folder, fragment="#matrix=cpu")
    script(browser, "document.querySelector(`[data-k='${arguments[0]}']`).click()", key)
    wait(browser, "document.getElementById('detail').open")
    said = browser.find_element(By.ID, "detail").text
    of_cell = full.cells[record.op, record.element_type, record.backend].records
    for part in (
        f"{len(of_cell)} cases",
        "input sets",
        record.id,
        f"hlo-conformance replay {record.id}",
    ):
        assert part in said
    link = browser.find_element(By.LINK_TEXT, record.id)
    script(browser, "arguments[0].click()", link)
    wait(browser, "location.hash.includes('case=')")
    assert record.message in browser.find_element(By.ID, "detail").text


def test_a_campaigns_page_fits_and_its_commands_can_be_copied(browser, tmp_path):
    (tmp_path / "full").mkdir()
    write_to(DATA, tmp_path / "full")
    go(browser, tmp_path)
    width = "return [document.documentElement.scrollWidth, innerWidth]"
    needed, given = script(browser, width)
    assert needed <= given
    assert count_visible(browser, "#findings article .cause dd") == 8
    marks = "return [...document.querySelectorAll('svg.pairs .met')].map(e => e.getBBox().width)"
    assert sorted(map(bool, script(browser, marks))) == [False, True, True]
    script(browser, "document.querySelector('.copy').click()")
    wait(browser, "document.querySelector('.copy').textContent === 'Copied'")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []

"""Filters, search and the address of the HTML report in Chromium."""

from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conformance.catalog import CATALOG
from conformance.verdict import Verdict
from reports import view
from suites.meta.reports.browsing import (
    count_visible,
    fragment,
    go,
    lit_cells,
    open_everything,
    script,
    wait,
)

pytestmark = pytest.mark.browser


def rows(browser) -> set[str]:
    """Return the ops in the matrix that is shown."""
    body = "return [...document.querySelectorAll('#tables tr[data-op]')].map(e => e.dataset.op)"
    return set(script(browser, body))


def choose(browser, name: str, value: str) -> None:
    body = """const s = document.getElementById(arguments[0]); s.value = arguments[1];
              s.dispatchEvent(new Event('change', {bubbles: true}))"""
    script(browser, body, name, value)


def test_verdict_filter_changes_visible_rows(browser, folder, full):
    go(browser, folder)
    assert rows(browser) == {op for op, _, _ in full.planned}
    choose(browser, "verdict", "crashed")
    crashed = {(r.op, r.element_type) for r in full.records if r.verdict is Verdict.CRASHED}
    assert rows(browser) == {op for op, _ in crashed}
    assert (
        count_visible(browser, ".group")
        == count_visible(browser, ".group[data-verdict=crashed]")
        > 0
    )
    assert fragment(browser) == "#verdict=crashed"
    assert f"{len(crashed)} of {len(full.planned):,}" in browser.find_element(By.ID, "shown").text
    script(browser, "location.hash = 'verdict=crashed&matrix=cpu'")
    wait(browser, "document.querySelector('.matrix')")
    assert {tuple(key.split("/")[:2]) for key in lit_cells(browser)} == crashed
    browser.find_element(By.ID, "clear").click()
    wait(browser, "location.hash === '#matrix=cpu'")
    assert len(lit_cells(browser)) == len(full.planned)


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


def test_only_new_hides_known_groups(browser, folder):
    go(browser, folder)
    choose(browser, "is", "new")
    assert count_visible(browser, ".group:not([data-status=new])") == 0
    assert count_visible(browser, ".group[data-status=new]") > 0
    assert count_visible(browser, "#groups .status") == 1
    assert rows(browser)


def test_known_groups_are_collapsed_until_filtered(browser, folder):
    go(browser, folder)
    assert count_visible(browser, "#groups .status") == 3
    assert count_visible(browser, ".group[data-status=new]") > 0
    assert count_visible(browser, ".group[data-status=known]") == 0
    choose(browser, "type", "bf16")
    assert count_visible(browser, ".group[data-status=known]") > 0
    choose(browser, "type", "")
    assert count_visible(browser, ".group[data-status=known]") == 0


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


def test_every_link_within_the_page_leads_somewhere(browser, folder):
    go(browser, folder)
    open_everything(browser)
    broken = script(
        browser,
        """return [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href'))
             .filter(h => !h.includes('=') && h !== '#' && !document.getElementById(h.slice(1)))""",
    )
    assert broken == []
    script(browser, "location.hash = 'accuracy'")
    wait(browser, "document.querySelector('#accuracy .body table')")
    top = script(browser, "return document.getElementById('accuracy').getBoundingClientRect().top")
    assert -1 <= top < 820


def test_a_case_has_an_address(browser, folder, full):
    record = next(r for r in full.records if r.is_new_failure and r.verdict is Verdict.DIVERGENT)
    go(browser, folder, fragment=f"#case={quote(record.id)}")
    wait(browser, "document.getElementById('detail').open")
    said = browser.find_element(By.ID, "detail").text
    for part in (record.id, record.message, "stablehlo.", f"hlo-conformance replay {record.id}"):
        assert part in said
    go(browser, folder, fragment="#case=add-f32-cpu-12345")
    said = browser.find_element(By.ID, "detail").text
    assert "hlo-conformance replay add-f32-cpu-12345" in said

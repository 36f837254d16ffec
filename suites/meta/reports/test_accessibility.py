"""The HTML report against the rules of WCAG 2.1 AA that axe-core can check."""

import os
from pathlib import Path

import pytest

from suites.meta.reports.browsing import SIZES, go, script, wait

pytestmark = pytest.mark.browser

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
        go(browser, folder, "large-3", STATES[state])
        wait(browser, "document.querySelector('#tables table')")
        assert violations(browser, axe) == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

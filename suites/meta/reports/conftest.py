"""Fixtures: synthetic runs, their reports in a folder, and a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import html
from suites.meta.reports.browsing import SIZES
from suites.meta.support import synthetic_run as synthetic


@pytest.fixture(scope="session")
def runs():
    return {name: synthetic.run(name) for name in synthetic.RUNS}


@pytest.fixture(scope="module", params=SIZES)
def size(request) -> tuple[int, int]:
    return SIZES[request.param]


@pytest.fixture(scope="module")
def browser(size, browser_of_size):
    return browser_of_size(size)


@pytest.fixture(scope="module")
def full():
    return synthetic.run("full")


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    for name in synthetic.RUNS:
        (made / name).mkdir()
        content = synthetic.page(name).encode("utf-8", "backslashreplace")
        (made / name / "index.html").write_bytes(content)
    (made / "three").mkdir()
    page = html.html(synthetic.full_run(synthetic.NAMES))
    (made / "three" / "index.html").write_text(page)
    return made

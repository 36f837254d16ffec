"""What tests of several reports need."""

from __future__ import annotations

import pytest

from suites.meta.reports.browsing import SIZES, open_browser
from suites.meta.support import synthetic_run as synthetic


@pytest.fixture(scope="session")
def runs():
    return {name: synthetic.run(name) for name in synthetic.RUNS}


@pytest.fixture(scope="module", params=SIZES)
def size(request) -> tuple[int, int]:
    return SIZES[request.param]


@pytest.fixture(scope="module")
def browser(size, tmp_path_factory):
    driver = open_browser(size, tmp_path_factory.mktemp("profile"))
    try:
        yield driver
    finally:
        driver.quit()

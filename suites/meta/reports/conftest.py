"""What tests of several reports need."""

from __future__ import annotations

import pytest

from suites.meta.support import synthetic_run as synthetic


@pytest.fixture(scope="session")
def runs():
    return {name: synthetic.run(name) for name in synthetic.RUNS}

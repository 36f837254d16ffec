"""Fixture and option for pytest, which loads this module where hlo-conformance is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

OPTION = "--conformance-backend"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses the backend."""
    parser.getgroup("hlo-conformance").addoption(
        OPTION, default="cpu", help="backend that the fixture assert_conforms checks (cpu)"
    )


@pytest.fixture(scope="session")
def assert_conforms(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `conformance.assert_conforms` for the backend of the command line."""
    from conformance import assert_conforms as function

    return partial(function, backend=str(request.config.getoption(OPTION)))

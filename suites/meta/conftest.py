"""Fixtures of several folders: browsers, and a server that starts commands and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from suites.meta.support.commands import command_server
from suites.meta.support.preloading import start_server

MANY = 100
"""Smallest number of tests for which it is worth loading everything that workers need."""


@pytest.fixture(scope="session", autouse=True)
def _preloaded(request: pytest.FixtureRequest) -> None:
    if len(request.session.items) >= MANY:
        start_server()


@pytest.fixture(scope="session")
def command() -> Iterator[list[str]]:
    """Return the words by which a process calls hlo-conformance, which starts at once."""
    with command_server() as words:
        yield words


@pytest.fixture(scope="session")
def browser_of_size(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[tuple[int, int]], object]]:
    """Return a function that gives a browser a size. There is one browser: to start it takes
    seconds.
    """
    from suites.meta.reports import browsing  # needs selenium, as few tests do

    with ExitStack() as stack:

        @cache
        def open_browser() -> object:
            driver = browsing.open_browser(tmp_path_factory.mktemp("profile"))
            stack.callback(driver.quit)
            return driver

        def resized_browser(size: tuple[int, int]) -> object:
            browsing.resize(open_browser(), size)
            return open_browser()

        yield resized_browser

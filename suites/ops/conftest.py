"""Parametrise the tests by the cells of the catalog, and give them workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from conformance.backends.registry import Choice, parse_all
from conformance.catalog import cells
from conformance.errors import UsageError
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import LocalExecutor
from generators.case.columns import Invalid


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = {"cell", "invalid_cell"} & set(metafunc.fixturenames)
    if not wanted:
        return
    every_cell = cells(backends=list(_backends(metafunc.config)))
    for name in wanted:
        selected = [
            cell
            for cell in every_cell
            if isinstance(cell.element_type, Invalid) == (name == "invalid_cell")
        ]
        metafunc.parametrize(name, selected, ids=str)


def _backends(config: pytest.Config) -> dict[str, Choice]:
    """Return the backends of --backend by name."""
    try:
        return {choice.name: choice for choice in parse_all(config.getoption("backend") or ["cpu"])}
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def executors(pytestconfig: pytest.Config) -> Iterator[Callable[[str], LocalExecutor]]:
    """Return a function that starts the worker of a backend when it is first asked for."""
    backends = _backends(pytestconfig)
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(executor_of(backends[name], jobs=1)))

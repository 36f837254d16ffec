"""Parametrise the tests by the cells of the catalog, and give them workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from conformance.backends.registry import Choice, parse_all
from conformance.campaign.planning import plan_of
from conformance.campaign.tasks import Task, run_tasks
from conformance.catalog import Cell, cells
from conformance.errors import UsageError
from conformance.executors.backend_workers import executor_of
from conformance.executors.executor import Executor
from generators.case.columns import Invalid
from suites.ops.batches import CellBatches
from suites.ops.failures import expectations_of

DEFAULT_CASES = 1
"""Cases per cell without --profile."""


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
def executors(pytestconfig: pytest.Config) -> Iterator[Callable[[str], Executor]]:
    """Return a function that starts the worker of a backend when it is first asked for."""
    backends = _backends(pytestconfig)
    with ExitStack() as stack:

        @cache
        def open_executor(name: str) -> Executor:
            workers = executor_of(backends[name], jobs=1, functions=(run_tasks,))
            return stack.enter_context(workers)

        yield open_executor


@pytest.fixture(scope="session")
def batches(
    request: pytest.FixtureRequest, executors: Callable[[str], Executor]
) -> Callable[[Cell], CellBatches]:
    """Return a function that gives the batches of the cells that are tested of a cell's op."""
    profile = request.config.getoption("profile")
    seed = request.config.getoption("case_seed")
    selected: dict[tuple[str, str], list[Cell]] = {}
    for item in request.session.items:
        if "batches" in getattr(item, "fixturenames", ()):
            cell: Cell = item.callspec.params["cell"]
            selected.setdefault((cell.backend, cell.op), []).append(cell)

    def tasks_of(cell: Cell) -> list[Task]:
        return plan_of(cell, profile, seed) if profile else [Task(cell, seed, 0, DEFAULT_CASES)]

    @cache
    def batches_of(backend: str, op: str) -> CellBatches:
        tasks = [task for cell in selected[backend, op] for task in tasks_of(cell)]
        return CellBatches(tasks, backend, executors(backend), expectations_of(backend))

    return lambda cell: batches_of(cell.backend, cell.op)

"""Options of the conformance tests, and their parameters: one test per cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from conformance.backends import isa
from conformance.backends.registry import Choice, parse_all
from conformance.campaign.planning import PROFILES
from conformance.catalog import cells
from conformance.errors import UsageError
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import LocalExecutor
from generators.case.columns import Invalid

pytest.register_assert_rewrite("suites.meta.support")

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.register_profile("fuzz", settings.get_profile("dev"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
"""`HYPOTHESIS_PROFILE` chooses; the ci profile draws the same examples every time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption(
        "--backend", action="append", metavar="NAME",
        help="backend to test: cpu, gpu, tpu, plugin:NAME=PATH; repeatable [default: cpu]",
    )  # fmt: skip
    group.addoption(
        "--profile", choices=list(PROFILES), help="cases per cell [default: one]", default=None
    )
    group.addoption("--case-seed", type=int, default=0, metavar="N", help="seed of the cases")


PINNED = "AVX2"
"""The newest instruction set that XLA's CPU compiler targets in the project's own tests."""


def pytest_configure(config: pytest.Config) -> None:
    """Have XLA compute the same on every machine, unless a backend is what is being tested."""
    if not config.getoption("backend") and PINNED in isa.of_host():
        isa.request(PINNED)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("x86") and PINNED not in isa.of_host():
        pytest.skip(f"what XLA computes on x86 with {PINNED}, which this machine's CPU lacks")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = {"cell", "invalid_cell"} & set(metafunc.fixturenames)
    if not wanted:
        return
    backends = metafunc.config.getoption("backend") or ["cpu"]
    everything = cells(backends=list(_chosen(backends)))
    for name in wanted:
        chosen = [
            cell
            for cell in everything
            if isinstance(cell.element_type, Invalid) == (name == "invalid_cell")
        ]
        metafunc.parametrize(name, chosen, ids=str)


def _chosen(backends: list[str]) -> dict[str, Choice]:
    """The backends asked for, by the names that cells have for them."""
    try:
        return {choice.name: choice for choice in parse_all(backends)}
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def executors(pytestconfig: pytest.Config) -> Iterator[Callable[[str], LocalExecutor]]:
    """A worker per backend, made when first asked for."""
    chosen = _chosen(pytestconfig.getoption("backend") or ["cpu"])
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(executor_of(chosen[name], jobs=1)))

"""Options of the tests, profiles of Hypothesis, and the instruction set that XLA may use."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from conformance.backends import isa
from conformance.campaign.planning import PROFILES

pytest.register_assert_rewrite("suites.meta.support")

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.register_profile("fuzz", settings.get_profile("dev"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
"""`HYPOTHESIS_PROFILE` selects a profile; `ci` draws the same examples every time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption(
        "--backend", action="append", metavar="NAME",
        help="backend to test: cpu, gpu, tpu, plugin:NAME=PATH; repeatable [default: cpu]",
    )  # fmt: skip
    group.addoption(
        "--profile", choices=list(PROFILES), help="cases per cell [default: 1]", default=None
    )
    group.addoption("--case-seed", type=int, default=0, metavar="N", help="seed of the cases")


PINNED = "AVX2"
"""The newest instruction set that XLA's CPU compiler targets in the tests."""


def pytest_configure(config: pytest.Config) -> None:
    """Make XLA compute the same on every machine, unless --backend is given."""
    if not config.getoption("backend") and PINNED in isa.host_sets():
        isa.request(PINNED)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("x86") and PINNED not in isa.host_sets():
        pytest.skip(f"what XLA computes on x86 with {PINNED}, which this machine's CPU lacks")

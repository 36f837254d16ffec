"""Options of the tests, which tests run by default, profiles of Hypothesis, and the instruction set
that XLA may use.
"""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from pathlib import Path
from zlib import crc32

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
    group.addoption(
        "--deep", type=_share, nargs="?", const=(1, 1), metavar="I/N",
        help="run slow tests, web pages and suites/ops too, or the I-th of N shares of these",
    )  # fmt: skip


def _share(text: str) -> tuple[int, int]:
    """Return I and N of a share such as 3/8. Raise ArgumentTypeError for anything else."""
    index, _, shares = text.partition("/")
    if not (index.isdecimal() and shares.isdecimal() and 1 <= int(index) <= int(shares)):
        raise ArgumentTypeError(f"a share is I/N, such as 3/8, not {text}")
    return int(index), int(shares)


PINNED = "AVX2"
"""The newest instruction set that XLA's CPU compiler targets in the tests."""


def pytest_configure(config: pytest.Config) -> None:
    """Make XLA compute the same on every machine, unless --backend is given."""
    if not config.getoption("backend") and PINNED in isa.host_sets():
        isa.request(PINNED)


OPS = Path(__file__).parent / "ops"
"""Tests of every cell of the catalog on a backend."""


def pytest_report_header(config: pytest.Config) -> str:
    """Say which deep tests run."""
    if config.getoption("markexpr"):
        return "deep tests: those that -m selects"
    share = config.getoption("deep")
    return (
        f"deep tests: share {share[0]} of {share[1]}" if share else "deep tests: left out (--deep)"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out deep tests, unless --deep or -m selects them, or the command names their file."""
    if config.getoption("markexpr"):
        return
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    index, shares = config.getoption("deep") or (0, 1)
    left_out = [
        item
        for item in items
        if _is_deep(item)
        and (index == 0 or crc32(item.nodeid.encode()) % shares != index - 1)
        and not any(_names(path, item.path) for path in named)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        outside = set(left_out)
        items[:] = [item for item in items if item not in outside]


def _is_deep(item: pytest.Item) -> bool:
    marks = any(item.get_closest_marker(name) for name in ("slow", "browser"))
    return marks or item.path.is_relative_to(OPS)


def _names(argument: Path, path: Path) -> bool:
    """Tell whether an argument of the command names a test's file, or suites/ops."""
    return argument == path or (argument == OPS and path.is_relative_to(OPS))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("x86") and PINNED not in isa.host_sets():
        pytest.skip(f"what XLA computes on x86 with {PINNED}, which this machine's CPU lacks")

"""Every cell of the catalog on the backends given with --backend, by the runner's own tasks.

Each pytest process has a worker that the tasks run in: a backend that dies fails its cell alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from conformance.backends.base import NotAvailable
from conformance.catalog import Cell
from conformance.executors.local import LocalExecutor
from conformance.expectations import Expectation, known_by, load
from conformance.isolation import run_isolated
from conformance.planning import plan_of
from conformance.runner import executor_of, versions
from conformance.tasks import Task
from conformance.verdict import Record, Verdict

QUICK = 2
"""Cases per cell where no profile is asked for: the whole catalog takes a minute."""

TIMEOUT = 60.0
"""Seconds for a module."""


@cache
def expectations_of(backend: str) -> tuple[Expectation, ...]:
    return load(None, [backend], versions())


def explained(record: Record) -> str:
    """The failure as one would want to read it: function, index, expected, actual, distance."""
    lines = [f"{record.id}: {record.verdict.value}: {record.message}"]
    for element in record.detail.elements if record.detail else ():
        ulp = "" if element.ulp is None else f" ({element.ulp:g} ulp)"
        given = ", ".join(f"{name}={value}" for name, value, _ in element.inputs)
        lines.append(
            f"  {record.op}({given}) at {list(element.index)}: expected {element.expected} "
            f"{element.expected_hex}, got {element.actual} {element.actual_hex}{ulp}"
        )
    if record.detail:
        lines.append(record.detail.program)
    return "\n".join(lines)


@pytest.fixture(scope="session")
def executors() -> Iterator[Callable[[str], LocalExecutor]]:
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(executor_of(name, jobs=1)))


def test_conforms(cell: Cell, executors, pytestconfig: pytest.Config) -> None:
    profile, seed = pytestconfig.getoption("profile"), pytestconfig.getoption("case_seed")
    tasks = plan_of(cell, profile, seed) if profile else [Task(cell, seed, 0, QUICK)]
    try:
        done = run_isolated(executors(cell.backend), tasks, TIMEOUT, pytest.fail)
        records = [record for one in done if one is not None for record in one[1].records]
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    if all(record.verdict is Verdict.UNSUPPORTED for record in records):
        pytest.skip(f"unsupported by {cell.backend}: {records[0].message}")
    known = expectations_of(cell.backend)
    new = [r for r in records if r.verdict.fails and not known_by(known, r)]
    if new:
        pytest.fail("\n".join(map(explained, new)), pytrace=False)

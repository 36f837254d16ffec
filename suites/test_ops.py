"""Every cell of the catalog on the backends given with --backend, by the runner's own tasks.

Each pytest process has a worker that the tasks run in: a backend that dies fails its cell alone.
A failure is run once more, not three times: each known crash costs a worker every time.
"""

from __future__ import annotations

import pytest

from conformance.campaign.isolation import run_isolated
from conformance.campaign.planning import bundles, plan_of
from conformance.campaign.tasks import Manner, Task
from conformance.catalog import Cell
from conformance.errors import NotAvailable
from conformance.gate.expectations import hypotheses_of, settled
from conformance.verdict import Verdict
from suites.running import TIMEOUT, expectations_of, explained

QUICK = 1
"""Cases per cell where no profile is asked for: the whole catalog takes a few minutes."""


def test_conforms(cell: Cell, executors, pytestconfig: pytest.Config) -> None:
    profile, seed = pytestconfig.getoption("profile"), pytestconfig.getoption("case_seed")
    tasks = plan_of(cell, profile, seed) if profile else [Task(cell, seed, 0, QUICK)]
    try:
        known = expectations_of(cell.backend)
        done = run_isolated(
            executors(cell.backend), bundles(tasks), TIMEOUT, pytest.fail,
            manner=Manner(hypotheses_of(known, cell.backend), repeats=1),
        )  # fmt: skip
        found = [record for one in done if one is not None for record in one[1].records]
        records = [settled(record, known) for record in found]
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    if all(record.verdict is Verdict.UNSUPPORTED for record in records):
        pytest.skip(f"unsupported by {cell.backend}: {records[0].message}")
    new = [record for record in records if record.is_new_failure]
    if new:
        pytest.fail("\n".join(map(explained, new)), pytrace=False)

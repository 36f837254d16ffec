"""A backend computes what the specification says, in every cell of the catalog.

Tasks are those of `hlo-conformance run`. Each pytest process has a worker per backend, so a crash
fails one cell. A failure is repeated once instead of three times: each known crash ends a worker.
"""

from __future__ import annotations

import pytest

from conformance.campaign.isolation import run_isolated
from conformance.campaign.planning import make_batches, plan_of
from conformance.campaign.tasks import Manner, Task
from conformance.catalog import Cell
from conformance.errors import NotAvailable
from conformance.gate.expectations import hypotheses_of, match_record
from conformance.limits import Limits
from conformance.verdict import Verdict
from suites.ops.failures import TIMEOUT, expectations_of, failure_text

DEFAULT_CASES = 1
"""Cases per cell without --profile."""


def test_backend_conforms(cell: Cell, executors, pytestconfig: pytest.Config) -> None:
    profile, seed = pytestconfig.getoption("profile"), pytestconfig.getoption("case_seed")
    tasks = plan_of(cell, profile, seed) if profile else [Task(cell, seed, 0, DEFAULT_CASES)]
    try:
        known = expectations_of(cell.backend)
        results = run_isolated(
            executors(cell.backend), make_batches(tasks), Limits(TIMEOUT), pytest.fail,
            manner=Manner(hypotheses_of(known, cell.backend), repeats=1),
        )  # fmt: skip
        records = [
            match_record(record, known)
            for result in results
            if result is not None
            for record in result[1].records
        ]
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    if all(record.verdict is Verdict.UNSUPPORTED for record in records):
        pytest.skip(f"unsupported by {cell.backend}: {records[0].message}")
    new = [record for record in records if record.is_new_failure]
    if new:
        pytest.fail("\n".join(map(failure_text, new)), pytrace=False)

"""A backend refuses invalid programs of every op: each program breaks one constraint.

An expectation matches a program that is accepted by the id of the constraint.
"""

from __future__ import annotations

import pytest

from conformance.campaign.planning import make_batches, plan_of
from conformance.campaign.task_runner import TaskRunner
from conformance.catalog import Cell
from conformance.errors import NotAvailable
from conformance.gate.expectations import matching_entry
from conformance.limits import Limits
from conformance.verdict import Verdict
from suites.ops.failures import TIMEOUT, expectations_of, failure_text


def test_invalid_programs_are_refused(
    invalid_cell: Cell, executors, pytestconfig: pytest.Config
) -> None:
    tasks = plan_of(invalid_cell, pytestconfig.getoption("profile") or "smoke", 0)
    try:
        runner = TaskRunner(Limits(TIMEOUT), pytest.fail)
        results = runner.run(executors(invalid_cell.backend), make_batches(tasks))
        records = [
            record for result in results if result is not None for record in result[1].records
        ]
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    assert records
    known = expectations_of(invalid_cell.backend)
    new = [r for r in records if r.verdict.fails and not matching_entry(known, r)]
    if new:
        pytest.fail("\n".join(map(failure_text, new)), pytrace=False)
    if all(record.verdict is Verdict.UNSUPPORTED for record in records):
        pytest.skip(f"unsupported by {invalid_cell.backend}: {records[0].message}")

"""A backend computes what the specification says, in every cell of the catalog.

The tasks equal the tasks of `hlo-conformance run`. Each pytest process has a worker per backend, so
a crash fails one cell.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.catalog import Cell
from conformance.errors import NotAvailable
from conformance.verdict import Verdict
from suites.ops.batches import CellBatches
from suites.ops.failures import failure_text


def test_backend_conforms(cell: Cell, batches: Callable[[Cell], CellBatches]) -> None:
    try:
        records, notices = batches(cell).records_of(cell)
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    new = [failure_text(record) for record in records if record.is_new_failure]
    if new or notices:
        pytest.fail("\n".join((*notices, *new)), pytrace=False)
    assert records, f"{cell} has no record: see the failure of another cell of {cell.op}"
    if all(record.verdict is Verdict.UNSUPPORTED for record in records):
        pytest.skip(f"unsupported by {cell.backend}: {records[0].message}")

"""The parts of a run's report as JSON."""

from __future__ import annotations

import math

import pytest

from conformance.backends.base import Description
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.left_out import LeftOut
from conformance.results.report import (
    backend_of,
    batch_of,
    cell_of,
    denominators,
    divergence_of,
    left_out_of,
)
from conformance.verdict import Detail, LostBatch, Record, Repeats, Verdict


def record(index: int = 0, verdict: Verdict = Verdict.PASS, **given) -> Record:
    return Record("add", "f32", "cpu", index, "0", verdict, **given)


def cell(op: str, state: str, *records: Record) -> CellResults:
    return CellResults(op, "f32", "cpu", state, records)


def test_ops_and_cells_are_counted_by_state() -> None:
    found = denominators(
        [
            cell("add", Verdict.PASS.value, record()),
            cell("add", UNTESTED),
            cell("tanh", FILTERED),
            cell("sqrt", Verdict.UNSUPPORTED.value, record(0, Verdict.UNSUPPORTED)),
        ]
    )
    assert (found.ops, found.cells, found.cells_planned) == (3, 4, 3)
    assert (found.cells_untested, found.cells_unsupported, found.cells_filtered_out) == (1, 1, 1)
    assert (found.ops_tested, found.cells_tested) == (1, 1)


@pytest.mark.parametrize(
    ("errors", "worst"),
    [([1.0, 3.0, None], 3.0), ([math.inf, 2.0], 2.0), ([None], None), ([], None)],
)
def test_largest_error_of_a_cell_is_finite(errors: list, worst: float | None) -> None:
    records = [record(n, worst_ulp=one, pairs=2, values=5) for n, one in enumerate(errors)]
    found = cell_of(cell("add", "pass", *records), from_cache=1, left_out=2, seconds=0.12345)
    assert found.worst_ulp == worst
    assert (found.cases, found.pairs, found.values) == (
        len(errors),
        2 * len(errors),
        5 * len(errors),
    )
    assert (found.from_cache, found.left_out, found.seconds) == (1, 2, 0.123)


def test_divergence_has_its_elements_unless_there_are_no_results() -> None:
    detail = Detail("program", b"", 2, 12, ())
    given = {"kind": "NaN", "message": "a\nb", "known": "mine", "detail": detail}
    found = divergence_of(record(3, Verdict.DIVERGENT, repeats=Repeats(1, 5), **given))
    assert (found.id, found.class_, found.message) == ("add-f32-cpu-3", "NaN", "a b")
    assert (found.wrong, found.total, found.failed_runs, found.runs) == (2, 12, 1, 5)
    assert found.known == ("mine",)
    assert not found.is_new
    crashed = divergence_of(record(3, Verdict.CRASHED, **given))
    assert (crashed.wrong, crashed.total, crashed.runs) == (None, None, None)


def test_batches_backends_and_cases_that_were_left_out() -> None:
    batch = LostBatch("cpu", (("add", "f32", 0), ("add", "bf16", 1)), Verdict.CRASHED, "", "a\nb")
    found = batch_of(batch)
    assert (found.cases, found.message, found.cells) == (2, "a b", batch.name)
    assert left_out_of(LeftOut("add", "f32", "cpu", ((0, 3), (5, 6)))).cases == 4
    described = Description("cpu", "cpu", "x86", (("jaxlib", "0.10"),))
    assert backend_of(described).versions == {"jaxlib": "0.10"}

"""Batches that failed as a whole although no case explains it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.results.lost_batches import unexplained_batches
from conformance.verdict import LostBatch, Record, Verdict

SHORT = "2 results expected, got 1"


def lost(*indices: int, backend: str = "cpu") -> LostBatch:
    cases = tuple(("add", "f32", index) for index in indices)
    return LostBatch(backend, cases, Verdict.CRASHED, "", "terminated")


def record(index: int, verdict: Verdict, kind: str = "", backend: str = "cpu") -> Record:
    return Record("add", "f32", backend, index, "0", verdict, kind)


@pytest.mark.parametrize(
    ("one", "explains"),
    [
        (record(2, Verdict.CRASHED), True),
        (record(2, Verdict.TIMED_OUT), True),
        (replace(record(2, Verdict.DIVERGENT, "wrong type"), message=SHORT), True),
        (record(2, Verdict.DIVERGENT, "wrong type"), False),
        (record(2, Verdict.DIVERGENT, "NaN"), False),
        (record(2, Verdict.PASS), False),
        (record(7, Verdict.CRASHED), False),
        (record(2, Verdict.CRASHED, backend="gpu"), False),
    ],
)
def test_a_case_without_results_in_isolation_explains_its_batch(
    one: Record, explains: bool
) -> None:
    batch = lost(1, 2, 3)
    assert unexplained_batches([batch], [one]) == (() if explains else (batch,))


def test_only_the_smallest_of_nested_batches_is_listed() -> None:
    whole, half, other = lost(1, 2, 3, 4), lost(3, 4), lost(3, 4, 5, backend="gpu")
    assert unexplained_batches([whole, half, other], []) == (half, other)

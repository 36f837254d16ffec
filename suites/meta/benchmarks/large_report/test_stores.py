"""Synthetic stores: the number of records, the mix of verdicts, the same on all backends."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.large_report.stores import NEW, SHARES, _failure, _verdict, hash_of, write
from conformance.results.summary import load
from conformance.verdict import Verdict


@pytest.mark.parametrize("backends", [("cpu",), ("cpu", "gpu")])
def test_a_store_has_the_number_of_records(backends: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, 300, backends)
    run = load(tmp_path)
    assert len(run.records) == 300
    assert {one.name for one in run.backends} == set(backends)
    assert run.lost_batches
    assert run.left_out


def test_verdicts_have_their_shares() -> None:
    generator = random.Random(1)
    counts = Counter(_verdict(generator) for _ in range(20_000))
    for verdict, share in SHARES:
        assert counts[verdict] / 20_000 == pytest.approx(share, abs=0.01)
    assert counts[Verdict.PASS] / 20_000 == pytest.approx(1 - sum(s for _, s in SHARES), abs=0.01)


def test_a_tenth_of_failures_is_new() -> None:
    generator = random.Random(2)
    cell = ("add", "f32", "cpu")
    records = [_failure(cell, n, "d", Verdict.DIVERGENT, generator) for n in range(2000)]
    assert sum(not one.known for one in records) / 2000 == pytest.approx(NEW, abs=0.03)
    assert all(one.detail is not None and one.detail.elements for one in records)
    crashed = _failure(cell, 0, "d", Verdict.CRASHED, generator)
    assert crashed.detail is not None
    assert crashed.detail.elements == ()


def test_a_case_has_one_digest_on_all_backends() -> None:
    assert hash_of(("add", "f32", "cpu"), 3) == hash_of(("add", "f32", "gpu"), 3)
    assert hash_of(("add", "f32", "cpu"), 3) != hash_of(("add", "f32", "cpu"), 4)

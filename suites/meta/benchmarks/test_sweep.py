"""Blocks spread over all f32, and times that add up."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks import sweep
from benchmarks.sweep import ElapsedTimes, _blocks
from conformance.sweep.planning import BLOCK


def test_blocks_are_spread_evenly_and_do_not_overlap() -> None:
    blocks = _blocks("exponential", 4 * BLOCK)
    assert len(blocks) == 4
    starts = [block.start for block in blocks]
    steps = {later - earlier for earlier, later in pairwise(starts)}
    assert len(steps) == 1
    (step,) = steps
    assert all(block.stop - block.start == BLOCK >> 1 <= step for block in blocks)
    (domain,) = blocks[0].domains
    assert starts[0] == 0
    assert blocks[-1].stop <= domain.numbers
    assert step > domain.numbers // 5


def test_at_least_one_block_is_swept() -> None:
    assert len(_blocks("exponential", 1)) == 1


def test_times_are_measured_and_added(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, cpu = iter([10.0, 13.0, 20.0, 21.0]), iter([1.0, 6.0, 10.0, 12.0])
    monkeypatch.setattr(sweep, "perf_counter", lambda: next(wall))
    spent = ElapsedTimes()
    for _ in range(2):
        with spent.measured(lambda: next(cpu)):
            pass
    assert spent == ElapsedTimes(4.0, 7.0)
    assert spent + ElapsedTimes(1.0, 1.0) == ElapsedTimes(5.0, 8.0)

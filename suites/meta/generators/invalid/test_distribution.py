"""Near misses of collectives in two replicas: ids of groups, groups by a mesh."""

from __future__ import annotations

import pytest

from generators.invalid import distribution
from suites.meta.support.near_misses import assert_separate, attributes, programs


@pytest.mark.parametrize("op", distribution.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(distribution, op)


def test_all_run_in_replicas() -> None:
    grids = {one.process_grid for one in programs(distribution, "all_gather", "C2")}
    assert grids == {(2, 1)}


def test_ids_of_groups_are_missed_one_condition_at_a_time() -> None:
    """Twice the same id; more ids than replicas; an id past the last, or below the first."""
    assert [[0, 0]] in attributes(distribution, "all_gather", "C2", "replica_groups")
    assert [[0, 1, 2, 3]] in attributes(distribution, "all_gather", "C3", "replica_groups")
    assert [[0, 2]] in attributes(distribution, "all_gather", "C4", "replica_groups")


def test_pairs_repeat_a_source_or_a_target() -> None:
    for id_, side in (("C2", 0), ("C3", 1)):
        for pairs in attributes(distribution, "collective_permute", id_, "source_target_pairs"):
            ends = [pair[side] for pair in pairs]
            assert len(set(ends)) < len(ends)
            others = [pair[1 - side] for pair in pairs]
            assert len(set(others)) == len(others)

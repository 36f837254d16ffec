"""XlaBuilder's collectives: shard counts, groups left out, the page's order of operands."""

from __future__ import annotations

import pytest

from generators.families.xla.distribution import BUILDERS
from reference.ir.program import Dense
from suites.meta.support.built_cases import assert_valid, built, operations, sizes


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "ui32" if op in ("PartitionID", "ReplicaId") else "f32", 10))


def test_a_shard_count_is_the_ratio_of_sizes() -> None:
    for one in operations(built(BUILDERS["AllGather"], "f32", 20), "AllGather"):
        dimension, count = one.attribute("all_gather_dimension"), one.attribute("shard_count")
        assert isinstance(dimension, int)
        assert sizes(one)[dimension] * count == sizes(one, -1)[dimension]  # type: ignore[operator]
    for one in operations(built(BUILDERS["ReduceScatter"], "f32", 20), "ReduceScatter"):
        dimension, count = one.attribute("scatter_dimension"), one.attribute("shard_count")
        assert isinstance(dimension, int)
        assert sizes(one, -1)[dimension] * count == sizes(one)[dimension]  # type: ignore[operator]


def test_empty_groups_are_stated_or_left_out() -> None:
    found = operations(built(BUILDERS["AllReduce"], "f32", 150), "AllReduce")
    groups = [one.attribute("replica_groups") for one in found]
    assert None in groups
    assert any(isinstance(one, Dense) and 0 in one.type.static_shape for one in groups)


def test_operands_of_a_ragged_exchange_are_in_the_order_of_the_page() -> None:
    """Input, its offsets and sizes, output, its offsets and sizes."""
    for one in operations(built(BUILDERS["RaggedAllToAll"], "f32", 10), "RaggedAllToAll"):
        assert one.operands[3].type == one.results[0].type
        places = [sizes(one, n) for n in (1, 2, 4, 5)]
        assert len(set(places)) == 1


def test_a_sum_among_replicas_has_no_channel() -> None:
    for one in operations(built(BUILDERS["CrossReplicaSum"], "f32", 20), "CrossReplicaSum"):
        assert one.attribute("channel_id") is None
        assert one.regions == ()

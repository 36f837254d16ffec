"""XlaBuilder's collectives: groups that are written out, and the conditions of the page."""

from __future__ import annotations

from typing import Any

import pytest

from generators.regions.bodies import fold_of
from reference.ir.constants import matrix
from reference.ir.program import Dense, Operation, Program, TensorType
from reference.ir.types import element_type
from reference.ops.xla.distribution import OPS, sum_of
from suites.meta.support.ops.lowering import lower, records_of, violations

F32, SI32 = element_type("f32"), element_type("si32")
ADD = fold_of("add", F32).region
RECORDS = records_of(OPS)
SCOPE = Program((), process_grid=(2, 3))
IN = TensorType((4, 6), F32)


def groups_of(operation: Operation) -> Any:
    groups = operation.attribute("replica_groups")
    assert isinstance(groups, Dense)
    return groups.array.tolist()


def gather(**given: Any) -> Operation:
    (made,) = lower(
        RECORDS["AllGather"], IN, results=(TensorType((8, 6), F32),), all_gather_dimension=0,
        shard_count=2, **given,
    )  # fmt: skip
    return made


def test_omitted_groups_are_one_group_of_all_ids() -> None:
    """Replicas, or all devices of the grid if ids are global; the stated count if it is unknown."""
    assert groups_of(gather(scope=SCOPE)) == [[0, 1]]
    wide = gather(scope=SCOPE, channel_id=1, use_global_device_ids=True)
    assert groups_of(wide) == [[0, 1, 2, 3, 4, 5]]
    assert groups_of(gather()) == [[0, 1]]
    assert groups_of(gather(replica_groups=matrix([], 0), scope=SCOPE)) == [[0, 1]]
    assert groups_of(gather(replica_groups=matrix([[1, 0]]), scope=SCOPE)) == [[1, 0]]


@pytest.mark.parametrize(
    ("dimension", "count", "ids"), [(0, 2, []), (2, 2, ["P1"]), (0, 3, ["P2"])]
)
def test_conditions_of_all_gather(dimension: int, count: int, ids: list[str]) -> None:
    found = violations(
        RECORDS["AllGather"], IN, results=(TensorType((8, 6), F32),), shard_count=count,
        all_gather_dimension=dimension, replica_groups=matrix([[0, 1]]),
    )  # fmt: skip
    assert found == ids


def test_a_cross_replica_sum_adds_over_all_replicas() -> None:
    (made,) = lower(RECORDS["CrossReplicaSum"], IN, results=(IN,), scope=SCOPE)
    assert (made.name, groups_of(made)) == ("all_reduce", [[0, 1]])
    assert made.regions == (sum_of(IN),)
    assert [operation.name for operation in sum_of(IN).operations] == ["add", "return"]


def test_a_reduction_needs_an_operand() -> None:
    record = RECORDS["AllReduce"]
    assert violations(record, IN, regions=(ADD,), results=(IN,)) == []
    assert "P1" in violations(record, regions=(ADD,), results=())


def test_an_exchange_takes_one_array() -> None:
    given: dict[str, Any] = {
        "split_dimension": 0, "concat_dimension": 1, "split_count": 2,
        "results": (TensorType((2, 12), F32),),
    }  # fmt: skip
    record = RECORDS["AllToAll"]
    assert violations(record, IN, **given) == []
    assert violations(record, IN, **given | {"split_count": 3}) != []
    assert violations(record, IN, IN, **given | {"results": given["results"] * 2}) == ["P2"]


def test_each_array_of_a_tuple_is_scattered() -> None:
    part = TensorType((2, 6), F32)
    given: dict[str, Any] = {
        "results": (part, part), "regions": (ADD,), "scatter_dimension": 0, "shard_count": 2,
        "scope": SCOPE,
    }  # fmt: skip
    made = lower(RECORDS["ReduceScatter"], IN, IN, **given)
    assert [one.name for one in made] == ["reduce_scatter"] * 2


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"scatter_dimension": 2}, ["P1"]),
        ({"shard_count": 4}, ["P2"]),
        ({"results": (TensorType((2, 6), F32),) * 2}, ["P2"]),
    ],
)
def test_conditions_of_reduce_scatter(changed: dict[str, Any], ids: list[str]) -> None:
    given: dict[str, Any] = {
        "results": (TensorType((2, 6), F32),), "scatter_dimension": 0, "shard_count": 2,
        "replica_groups": matrix([[0, 1]]),
    }  # fmt: skip
    assert violations(RECORDS["ReduceScatter"], IN, regions=(ADD,), **given | changed) == ids


PLACES = TensorType((2,), SI32)


@pytest.mark.parametrize(
    ("output", "places", "ids"),
    [
        (TensorType((5, 6), F32), (PLACES,) * 4, []),
        (TensorType((5, 6), F32), (PLACES, PLACES, PLACES, TensorType((4,), SI32)), ["P1"]),
        (TensorType((5, 6), F32), (TensorType((3,), SI32),) * 4, ["P2"]),
        (TensorType((5, 7), F32), (PLACES,) * 4, ["P3"]),
    ],
)
def test_conditions_of_ragged_exchanges(
    output: TensorType, places: tuple[TensorType, ...], ids: list[str]
) -> None:
    first, second, third, fourth = places
    operands = IN, first, second, output, third, fourth
    record = RECORDS["RaggedAllToAll"]
    groups = matrix([[0, 1]])
    assert violations(record, *operands, result=output, replica_groups=groups) == ids
    (made,) = lower(record, *operands, results=(output,), replica_groups=groups)
    assert [value.name for value in made.operands] == ["o0", "o3", "o1", "o2", "o4", "o5"]

"""XlaBuilder's collectives.

Source: XLA operation semantics, each op by its name. `replica_groups` may be empty, or omitted: all
replicas are then one group, "ordered from 0 to N - 1". StableHLO forbids empty groups, so the rows
write that group for the twin. `shard_count` repeats the size of the groups.
"""

from __future__ import annotations

from typing import Any

from reference.ir.constants import matrix
from reference.ir.constraints import require
from reference.ir.notation import join_with_commas
from reference.ir.op import Op
from reference.ir.program import (
    Dense,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
    tensor_of,
)
from reference.ops.distribution.groups import (
    Strategy,
    cross_replica,
    ids_of,
    is_empty,
    strategy_by_channel,
    strategy_by_global_ids,
)
from reference.ops.distribution.ragged import check_shapes
from reference.ops.distribution.types import grid_of
from reference.ops.xla.building import Building, lowered_op, renamed_op

Values = tuple[Value, ...]
Types = tuple[TensorType, ...]
_GROUPED = ("replica_groups", "channel_id")
_GLOBAL = (*_GROUPED, "use_global_device_ids")


def _list_groups(
    scope: Program | None, strategy: Strategy, replica_groups: Dense | None, stated: int = 1
) -> Dense:
    """Return the groups; if there are none, one group of all ids that the strategy takes, in order.

    `stated` is the number of ids that the call states, used if the grid is unknown.
    """
    if replica_groups is not None and not is_empty(replica_groups):
        return replica_groups
    grid = grid_of(scope)
    count = stated if grid is None else ids_of(strategy, grid)
    return matrix([[*range(max(count, 1))]])


def _list_global_groups(
    building: Building, replica_groups: Dense | None, given: dict[str, Any], stated: int = 1
) -> dict[str, Any]:
    """Return the attributes with all groups written out, for an op that takes global ids."""
    strategy = strategy_by_global_ids(
        given.get("channel_id", 0), given.get("use_global_device_ids", False)
    )
    groups = _list_groups(building.scope, strategy, replica_groups, stated)
    return given | {"replica_groups": groups}


def _check_reduces(operands: Types, **_: Any) -> None:
    """Require P1 of AllReduce: an array, or a tuple of arrays that is not empty."""
    require("P1", len(operands) > 0, "no operand")


def _check_gathers(
    operands: Types, *, all_gather_dimension: int, shard_count: int,
    results: Types | None = None, **_: Any,
) -> None:  # fmt: skip
    """Require P1 and P2 of AllGather.

    P1: `all_gather_dimension` is a dimension of the operand. P2: that dimension of the result is
    `shard_count` times as large.
    """
    inside = all(0 <= all_gather_dimension < of.rank for of in operands)
    if require("P1", inside, all_gather_dimension) and results is not None:
        d = all_gather_dimension
        pairs = zip(operands, results, strict=False)
        grown = all(a.static_shape[d] * shard_count == b.static_shape[d] for a, b in pairs)
        require("P2", grown, shard_count)


def _all_gather(
    building: Building, operands: Values, *, all_gather_dimension: int, shard_count: int,
    replica_groups: Dense | None = None, **given: Any,
) -> Values:  # fmt: skip
    said: Any = {"results": building.results, "shard_count": shard_count}
    types = tuple(map(tensor_of, operands))
    _check_gathers(
        types, all_gather_dimension=all_gather_dimension, **said
    )  # which the twin cannot check
    given = _list_global_groups(building, replica_groups, given, shard_count)
    return building.ops(
        "all_gather", *operands, results=building.results, all_gather_dim=all_gather_dimension,
        **given,
    )  # fmt: skip


def _all_reduce(
    building: Building, operands: Values, *, computation: Region,
    replica_groups: Dense | None = None, **given: Any,
) -> Values:  # fmt: skip
    _check_reduces(tuple(map(tensor_of, operands)))  # which the twin cannot check
    return building.ops(
        "all_reduce", *operands, results=building.results, regions=(computation,),
        **_list_global_groups(building, replica_groups, given),
    )  # fmt: skip


def _check_exchanges(operands: Types, **_: Any) -> None:
    """Require P2 of AllToAll: the operand is one array, not a tuple.

    The twin checks the page's other conditions. P1: `split_count` blocks along the split dimension.
    P3, P4: dimensions of the operand. P5: `split_count` is the number of replicas in each group.
    """
    require("P2", len(operands) == 1, join_with_commas(*operands))


def _all_to_all(
    building: Building, operands: Values, *, split_count: int,
    replica_groups: Dense | None = None, **given: Any,
) -> Values:  # fmt: skip
    _check_exchanges(tuple(map(tensor_of, operands)))  # which the twin cannot check
    strategy = strategy_by_channel(given.get("channel_id", 0))
    groups = _list_groups(building.scope, strategy, replica_groups, split_count)
    return building.ops(
        "all_to_all", *operands, results=building.results, split_count=split_count,
        replica_groups=groups, **given,
    )  # fmt: skip


def _check_scatters(
    operands: Types, *, scatter_dimension: int, shard_count: int,
    results: Types | None = None, **_: Any,
) -> None:  # fmt: skip
    """Require P1 to P3 of ReduceScatter.

    P1: `scatter_dimension` is a dimension of each operand. P2: each operand has one result, which
    is a `shard_count`-th of it. P3: the operand is an array, or a tuple of arrays that is not
    empty.
    """
    require("P3", len(operands) > 0, "no operand")
    inside = all(0 <= scatter_dimension < of.rank for of in operands)
    if require("P1", inside, scatter_dimension) and results is not None:
        d = scatter_dimension
        pairs = zip(operands, results, strict=False)
        parts = all(
            whole.rank == part.rank and part.static_shape[d] * shard_count == whole.static_shape[d]
            for whole, part in pairs
        )
        require(
            "P2", parts and len(results) == len(operands), join_with_commas(*operands, *results)
        )


def _reduce_scatter(
    building: Building, operands: Values, *, computation: Region, shard_count: int,
    replica_groups: Dense | None = None, **given: Any,
) -> Values:  # fmt: skip
    """Reduce and scatter each array of a tuple: the twin has one operand."""
    types, stated = tuple(map(tensor_of, operands)), tuple(map(_tensor, building.results))
    _check_scatters(
        types, results=stated, shard_count=shard_count, **given
    )  # which the twin cannot check
    given = _list_global_groups(building, replica_groups, given, shard_count)
    return tuple(
        building.op("reduce_scatter", operand, result=result, regions=(computation,), **given)
        for operand, result in zip(operands, stated, strict=True)
    )


def _tensor(of: ValueType) -> TensorType:
    assert isinstance(of, TensorType)
    return of


def sum_of(of: TensorType) -> Region:
    """Return the computation that adds two scalars of an element type."""
    scalar = TensorType((), of.element_type)
    left, right, total = (Value(name, scalar) for name in ("lhs", "rhs", "sum"))
    add = Operation("add", (left, right), (total,))
    return Region((left, right), (add, Operation("return", (total,))))


def _cross_replica_sum(
    building: Building, operands: Values, *, replica_groups: Dense | None = None
) -> Values:
    _check_reduces(tuple(map(tensor_of, operands)))  # which the twin cannot check
    return building.ops(
        "all_reduce", *operands, results=building.results,
        regions=(sum_of(tensor_of(operands[0])),),
        replica_groups=_list_groups(building.scope, cross_replica, replica_groups),
    )  # fmt: skip


def _ragged_conditions(
    input: TensorType, input_offsets: TensorType, send_sizes: TensorType, output: TensorType,  # noqa: A002 - the page's word
    output_offsets: TensorType, recv_sizes: TensorType, *, replica_groups: Dense, **_: Any,
) -> None:  # fmt: skip
    """Require P1 to P3 of RaggedAllToAll.

    P1: offsets and sizes have one shape. P2: a number, or several, for each process of a group. P3:
    input and output are ragged along their first dimension and have equal sizes beyond it.
    """
    places = input_offsets, send_sizes, output_offsets, recv_sizes
    if check_shapes((input, output, *places), ("P1", "P3")):
        shape, groups = input_offsets.shape, replica_groups.type.static_shape
        require("P2", len(shape) in (1, 2) and shape[0] == groups[-1], input_offsets)


def _ragged_all_to_all(
    building: Building, input: Value, input_offsets: Value, send_sizes: Value, output: Value,  # noqa: A002 - the page's word
    output_offsets: Value, recv_sizes: Value, **given: Any,
) -> Value:  # fmt: skip
    values = input, output, input_offsets, send_sizes, output_offsets, recv_sizes
    return building.op("mhlo.ragged_all_to_all", *values, **given)


OPS: tuple[Op, ...] = (
    lowered_op(
        "AllGather", "all_gather", _all_gather, operands=("*operands",), optional=_GLOBAL,
        attributes=("all_gather_dimension", "shard_count", *_GLOBAL), conditions=_check_gathers,
        constraints=("P1", "P2"),
    ),
    lowered_op(
        "AllReduce", "all_reduce", _all_reduce, operands=("*operands",), attributes=_GLOBAL,
        optional=_GLOBAL, needs_result=True, conditions=_check_reduces, constraints=("P1",),
    ),
    lowered_op(
        "AllToAll", "all_to_all", _all_to_all, operands=("*operands",), optional=_GROUPED,
        attributes=("split_dimension", "concat_dimension", "split_count", *_GROUPED),
        needs_result=True, conditions=_check_exchanges, constraints=("P1", "P2", "P3", "P4", "P5"),
        restates={"P1": ("C2",), "P3": ("C1",), "P4": ("C3",), "P5": ("C8",)},
    ),
    renamed_op("CollectiveBroadcast", "collective_broadcast"),
    renamed_op(
        "CollectivePermute", "collective_permute", constraints=("P1", "P2"),
        restates={"P1": ("C3",), "P2": ("C2",)},
    ),
    lowered_op(
        "CrossReplicaSum", "all_reduce", _cross_replica_sum, operands=("*operands",), regions=(),
        attributes=("replica_groups",), optional=("replica_groups",), needs_result=True,
        conditions=_check_reduces, constraints=("P1",),
    ),
    renamed_op("PartitionID", "partition_id"),
    lowered_op(
        "RaggedAllToAll", "mhlo.ragged_all_to_all", _ragged_all_to_all,
        operands=(
            "input", "input_offsets", "send_sizes", "output", "output_offsets", "recv_sizes",
        ),
        attributes=_GROUPED, optional=_GROUPED[1:], conditions=_ragged_conditions,
        constraints=("P1", "P2", "P3"),
    ),
    lowered_op(
        "ReduceScatter", "reduce_scatter", _reduce_scatter, operands=("*operands",),
        attributes=("scatter_dimension", "shard_count", *_GLOBAL), optional=_GLOBAL,
        regions=("computation",), several=True, conditions=_check_scatters,
        constraints=("P1", "P2", "P3"),
    ),
    renamed_op("ReplicaId", "replica_id"),
)  # fmt: skip

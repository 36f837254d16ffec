"""XlaBuilder's collectives.

Source: XLA operation semantics, each op by its name. `shard_count` says again how large groups
are; a layout, and whether a permutation may work in place, say nothing of values.
"""

from __future__ import annotations

from typing import Any

from reference.ir.constraints import require
from reference.ir.op import Op
from reference.ir.program import Dense, Operation, Region, TensorType, Value
from reference.ops.distribution.ragged import check_shapes
from reference.ops.xla.building import Building, built, renamed, tensor_of

Values = tuple[Value, ...]
_GROUPED = ("replica_groups", "channel_id")
_GLOBAL = (*_GROUPED, "use_global_device_ids")


def _gathers(
    operands: tuple[TensorType, ...], *, all_gather_dimension: int, shard_count: int,
    results: tuple[TensorType, ...] | None = None, **_: Any,
) -> None:  # fmt: skip
    """P1: a dimension of the operand. P2: the result's is `shard_count` times as large."""
    inside = all(0 <= all_gather_dimension < of.rank for of in operands)
    if require("P1", inside, all_gather_dimension) and results is not None:
        d = all_gather_dimension
        pairs = zip(operands, results, strict=False)
        grown = all(a.static_shape[d] * shard_count == b.static_shape[d] for a, b in pairs)
        require("P2", grown, shard_count)


def _all_gather(
    building: Building, operands: Values, *, all_gather_dimension: int, shard_count: int,
    **given: Any,
) -> Values:  # fmt: skip
    types: Any = tuple(value.type for value in operands)
    said: Any = {"results": building.results, "shard_count": shard_count}
    _gathers(types, all_gather_dimension=all_gather_dimension, **said)  # which the twin is not told
    return building.ops(
        "all_gather", *operands, results=building.results, all_gather_dim=all_gather_dimension,
        **given,
    )  # fmt: skip


def _scatters(
    operand: TensorType, *, scatter_dimension: int, shard_count: int,
    result: TensorType | None = None, **_: Any,
) -> None:  # fmt: skip
    """P1: a dimension of the operand. P2: `shard_count` parts of it, one for each result."""
    if require("P1", 0 <= scatter_dimension < operand.rank, scatter_dimension) and result:
        whole, part = operand.static_shape, result.static_shape
        require("P2", part[scatter_dimension] * shard_count == whole[scatter_dimension])


def _reduce_scatter(
    building: Building, operand: Value, *, computation: Region, shard_count: int, **given: Any
) -> Value:
    of: Any = operand.type
    said: Any = {"result": building.results[0], "shard_count": shard_count}
    _scatters(of, **said, **given)  # which the twin is not told
    (result,) = building.ops(
        "reduce_scatter", operand, results=building.results, regions=(computation,), **given
    )
    return result


def sum_of(of: TensorType) -> Region:
    """The computation that adds two scalars of an element type."""
    scalar = TensorType((), of.element_type)
    left, right, total = (Value(name, scalar) for name in ("lhs", "rhs", "sum"))
    add = Operation("add", (left, right), (total,))
    return Region((left, right), (add, Operation("return", (total,))))


def _cross_replica_sum(building: Building, operands: Values, *, replica_groups: Dense) -> Values:
    body = sum_of(tensor_of(operands[0]))
    return building.ops(
        "all_reduce", *operands, results=building.results, regions=(body,),
        replica_groups=replica_groups,
    )  # fmt: skip


def _ragged_conditions(
    input: TensorType, input_offsets: TensorType, send_sizes: TensorType, output: TensorType,  # noqa: A002 - the page's word
    output_offsets: TensorType, recv_sizes: TensorType, *, replica_groups: Dense, **_: Any,
) -> None:  # fmt: skip
    """P1: offsets and sizes have one shape. P2: a number, or several, for each process of a group.
    P3: input and output are ragged along their first dimension, and alike beyond it."""
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
    built(
        "AllGather", "all_gather", _all_gather, operands=("*operands",), optional=_GLOBAL[1:],
        attributes=("all_gather_dimension", "shard_count", *_GLOBAL), scoped=False,
        conditions=_gathers, constraints=("P1", "P2"),
    ),
    renamed("AllReduce", "all_reduce", needs_result=True, scoped=False),
    renamed("AllToAll", "all_to_all", needs_result=True, scoped=False),
    renamed("CollectiveBroadcast", "collective_broadcast", scoped=False),
    renamed("CollectivePermute", "collective_permute", scoped=False),
    built(
        "CrossReplicaSum", "all_reduce", _cross_replica_sum, operands=("*operands",), regions=(),
        attributes=("replica_groups",), optional=(), needs_result=True, scoped=False,
    ),
    renamed("PartitionID", "partition_id"),
    built(
        "RaggedAllToAll", "mhlo.ragged_all_to_all", _ragged_all_to_all, scoped=False,
        operands=(
            "input", "input_offsets", "send_sizes", "output", "output_offsets", "recv_sizes",
        ),
        attributes=_GROUPED, optional=_GROUPED[1:], conditions=_ragged_conditions,
        constraints=("P1", "P2", "P3"),
    ),
    built(
        "ReduceScatter", "reduce_scatter", _reduce_scatter, operands=("operand",),
        attributes=("scatter_dimension", "shard_count", *_GLOBAL), optional=_GLOBAL[1:],
        regions=("computation",), scoped=False, conditions=_scatters, constraints=("P1", "P2"),
    ),
    renamed("ReplicaId", "replica_id"),
)  # fmt: skip

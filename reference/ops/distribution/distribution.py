"""Ops by which processes communicate: collectives, and the ids of the process.

Inputs and attributes have the specification's names. Each function returns the results in one
process: `process` is that process, and exchanges values with the others of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from reference.ir.errors import EvaluationError
from reference.ir.op import (
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.processes import Process, ProcessId
from reference.ir.program import Dense, Operation, QuantizedType, TensorType, ValueType
from reference.ir.regions import Body, components
from reference.ir.types import ALL, ELEMENT_TYPES, Array
from reference.numerics import monoids
from reference.numerics.contributions import Slices
from reference.ops.distribution import types
from reference.ops.distribution.groups import (
    Strategy,
    group_of,
    is_empty,
    listed_ids,
    strategy_by_channel,
    strategy_by_global_ids,
)
from reference.ops.folds import folding
from reference.ops.quantization import quantize

Arrays = tuple[Array, ...]


def replica_id(*, process: Process) -> Array:
    """Evaluate `replica_id`: return the replica id of the process."""
    return np.asarray(process.id[0], np.uint32)


def partition_id(*, process: Process) -> Array:
    """Evaluate `partition_id`: return the partition id of the process."""
    return np.asarray(process.id[1], np.uint32)


def _group(strategy: Strategy, groups: Dense, process: Process) -> list[ProcessId]:
    """Return the group of a process that must be in a group.

    Raises:
        EvaluationError: if it is in no group, or there are no groups.
    """
    if is_empty(groups):
        raise EvaluationError("replica_groups is empty: it must contain every process")
    group = group_of(strategy(listed_ids(groups), process.grid), process.id)
    if group is None:
        raise EvaluationError(f"process {process.id} is in no group of {listed_ids(groups)}")
    return group


def all_gather(
    operands: Arrays,
    *,
    process: Process,
    all_gather_dim: int,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
    results: tuple[ValueType, ...],
) -> Arrays:
    """Evaluate `all_gather`: concatenate the operands of all processes of the group."""
    del results
    strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
    given = process.exchange(_group(strategy, replica_groups, process), operands)
    return tuple(np.concatenate(arrays, all_gather_dim) for arrays in zip(*given, strict=True))


Contributions = Sequence[Array] | None
"""The arrays that are folded to a result of a process; None if the result is not folded."""


def _all_reduce_contributions(
    operands: Arrays,
    *,
    process: Process,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
) -> list[Contributions]:
    strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
    given = process.exchange(_group(strategy, replica_groups, process), operands)
    return list(zip(*given, strict=True))


def all_reduce(operands: Arrays, *, computation: Body, process: Process, **given: Any) -> Arrays:
    """Evaluate `all_reduce`: fold the operands of all processes of the group, in its order."""
    to_fold = _all_reduce_contributions(operands, process=process, **given)
    return tuple(fold_arrays(computation, arrays) for arrays in to_fold if arrays is not None)


def fold_arrays(computation: Body, arrays: Sequence[Array]) -> Array:
    """Return arrays of one shape folded elementwise, exactly if the computation is a known
    monoid."""
    (element,) = folding.argument_elements(computation.region)[:1]
    values = np.stack(folding.convert_arrays(arrays, (element,) * len(arrays)))
    (monoid,) = components(computation.region)
    if monoid is not None and monoids.can_fold(monoid, element):
        leaves = Slices(values.shape, (0,))
        return monoids.fold(monoid, values, values.dtype.type(0), leaves, 0)
    (result,) = folding.tree(computation.lanes, (values.reshape(len(arrays), -1),))
    return np.asarray(result).reshape(values.shape[1:])


def _reduce_scatter_contributions(
    operand: Array,
    *,
    process: Process,
    scatter_dimension: int,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
) -> list[Contributions]:
    strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
    group = _group(strategy, replica_groups, process)
    given = process.exchange(group, operand)
    number, count = group.index(process.id), len(group)
    return [[np.split(array, count, scatter_dimension)[number] for array in given]]


def reduce_scatter(
    operand: Array, *, computation: Body, process: Process, result: ValueType, **given: Any
) -> Array:
    """Evaluate `reduce_scatter`: return the process's own part of an all_reduce."""
    del result
    (parts,) = _reduce_scatter_contributions(operand, process=process, **given)
    return fold_arrays(computation, parts or ())


def all_to_all(
    operands: Arrays,
    *,
    process: Process,
    split_dimension: int,
    concat_dimension: int,
    split_count: int,
    replica_groups: Dense,
    channel_id: int = 0,
) -> Arrays:
    """Evaluate `all_to_all`: concatenate each process's part with this process's index."""
    group = _group(strategy_by_channel(channel_id), replica_groups, process)
    given = process.exchange(group, operands)
    number = group.index(process.id)
    return tuple(
        np.concatenate(
            [np.split(array, split_count, split_dimension)[number] for array in arrays],
            concat_dimension,
        )
        for arrays in zip(*given, strict=True)
    )


def collective_broadcast(
    operands: Arrays,
    *,
    process: Process,
    replica_groups: Dense,
    channel_id: int = 0,
    has_dynamic_root: bool = False,
    results: tuple[ValueType, ...],
) -> Arrays:
    """Evaluate `collective_broadcast`: return the root's operands; zeros outside of all groups."""
    count = len(operands) - has_dynamic_root
    groups = strategy_by_channel(channel_id)(listed_ids(replica_groups), process.grid)
    group = group_of(groups, process.id)
    if group is None:
        return tuple(map(_zeros, results))
    given = process.exchange(group, operands)
    roots = _roots(operands, count, has_dynamic_root, len(group))
    return tuple(given[root][index] for index, root in enumerate(roots))


def _roots(operands: Arrays, count: int, dynamic: bool, size: int) -> list[int]:
    """Return the root's index in the group for each result: the first, or given by an operand."""
    if not dynamic:
        return [0] * count
    roots: list[int] = operands[-1].tolist()
    if not all(0 <= root < size for root in roots):
        raise EvaluationError(f"roots {roots} are not all in a group of {size} processes")
    return roots


def check_roots(
    operands: tuple[Array | None, ...],
    *,
    replica_groups: Dense,
    has_dynamic_root: bool = False,
    channel_id: int = 0,
) -> None:
    """Check C6 of `collective_broadcast`: known roots are in their groups."""
    del channel_id
    roots, size = operands[-1], replica_groups.type.static_shape[1]
    if has_dynamic_root and roots is not None:
        types.require("C6", bool(((roots >= 0) & (roots < size)).all()), roots.tolist())


def _zeros(value_type: ValueType) -> Array:
    """Return a tensor of zeros, as codes if it is quantized."""
    assert isinstance(value_type, TensorType)
    element_type, shape = value_type.element_type, value_type.static_shape
    if isinstance(element_type, QuantizedType):
        return quantize(np.zeros(shape, element_type.expressed_type.storage), element_type)
    return np.zeros(shape, element_type.storage)


def collective_permute(
    operand: Array,
    *,
    process: Process,
    source_target_pairs: Dense,
    channel_id: int = 0,
    result: ValueType,
) -> Array:
    """Evaluate `collective_permute`: return the operand of the process's source, or zeros."""
    pairs = strategy_by_channel(channel_id)(source_target_pairs.array.tolist(), process.grid)
    process.post(operand)
    sources = [source for source, target in pairs if target == process.id]
    return process.take(sources)[0] if sources else _zeros(result)


def _collective_reduce_contributions(
    operands: Arrays,
    *,
    process: Process,
    replica_groups: Dense,
    channel_id: int = 0,
    has_dynamic_root: bool = False,
) -> list[Contributions]:
    count = len(operands) - has_dynamic_root
    groups = strategy_by_channel(channel_id)(listed_ids(replica_groups), process.grid)
    group = group_of(groups, process.id)
    if group is None:
        return [None] * count
    given = process.exchange(group, operands)
    roots = _roots(operands, count, has_dynamic_root, len(group))
    return [
        [one[index] for one in given] if group[root] == process.id else None
        for index, root in enumerate(roots)
    ]


def collective_reduce(
    operands: Arrays, *, computation: Body, process: Process, **given: Any
) -> Arrays:
    """Evaluate `collective_reduce`: return the all_reduce in the root, zeros in other processes."""
    (element,) = folding.argument_elements(computation.region)[:1]
    to_fold = _collective_reduce_contributions(operands, process=process, **given)
    return tuple(
        np.zeros(array.shape, element.storage)
        if arrays is None
        else fold_arrays(computation, arrays)
        for array, arrays in zip(operands, to_fold, strict=False)
    )


_CONTRIBUTIONS: dict[str, Callable[..., list[Contributions]]] = {
    "all_reduce": _all_reduce_contributions,
    "collective_reduce": _collective_reduce_contributions,
    "reduce_scatter": _reduce_scatter_contributions,
}


def contributions(
    operation: Operation, operands: Any, process: Process, attributes: dict[str, Any]
) -> list[Contributions]:
    """Return the arrays that are folded to each result of an operation in a process.

    `operands` are the process's operands, and `attributes` the attributes that the op's evaluation
    takes. For an op that does not fold, return None for each result.
    """
    found = _CONTRIBUTIONS.get(operation.name)
    if found is None:
        return [None] * len(operation.results)
    return found(operands, process=process, **attributes)


_GLOBAL = ("replica_groups", "channel_id", "use_global_device_ids")
_GLOBAL_OPTIONAL = ("channel_id", "use_global_device_ids")
_ROOTED = ("replica_groups", "channel_id", "has_dynamic_root")
_ROOTED_OPTIONAL = ("channel_id", "has_dynamic_root")

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES, structure=Structure.COMMUNICATES,
    lifts=False, needs_result=False, scoped=True, metadata=frozenset({"channel_type"}),
)  # fmt: skip
_fold = partial(_op, rounding=Rounding.ACCUMULATES, regions=("computation",), body_types=(True,))
_id = partial(
    _op, type_function=types.id_type, operands=(), attributes=(), constraints=(),
    element_types=(ELEMENT_TYPES["ui32"],), principal=FIRST_RESULT, scoped=False,
    quantized=QuantizedUse.REFUSES,
)  # fmt: skip


def _ids(count: int) -> tuple[str, ...]:
    return tuple(f"C{number}" for number in range(1, count + 1))


OPS: tuple[Op, ...] = (
    _op(
        name="all_gather", type_function=types.all_gather_type, evaluate=all_gather,
        operands=("*operands",), attributes=("all_gather_dim", *_GLOBAL),
        optional=_GLOBAL_OPTIONAL, constraints=_ids(6), inputs=("I1", "I3"), several=True,
        needs_result=True, carries=None,
    ),
    _fold(
        name="all_reduce", type_function=types.all_reduce_type, evaluate=all_reduce,
        operands=("*operands",), attributes=_GLOBAL, optional=_GLOBAL_OPTIONAL,
        constraints=_ids(7), inputs=("I1", "I2"), several=True,
    ),
    _op(
        name="all_to_all", type_function=types.all_to_all_type, evaluate=all_to_all,
        operands=("*operands",),
        attributes=(
            "split_dimension", "concat_dimension", "split_count", "replica_groups", "channel_id",
        ),
        optional=("channel_id",), constraints=_ids(9), inputs=("I1", "I5"), several=True,
        carries=None,
    ),
    _op(
        name="collective_broadcast", type_function=types.collective_broadcast_type,
        evaluate=collective_broadcast, check_values=check_roots, operands=("*operands",),
        attributes=_ROOTED, optional=_ROOTED_OPTIONAL, constraints=_ids(6), inputs=("I1", "I2"),
        several=True, quantized=QuantizedUse.PASSES, needs_result=True,
    ),
    _op(
        name="collective_permute", type_function=types.collective_permute_type,
        evaluate=collective_permute, operands=("operand",),
        attributes=("source_target_pairs", "channel_id"), optional=("channel_id",),
        constraints=_ids(5), inputs=("I1", "I2"), quantized=QuantizedUse.PASSES,
        needs_result=True,
    ),
    _fold(
        name="collective_reduce", type_function=types.collective_reduce_type,
        evaluate=collective_reduce, operands=("*operands",), attributes=_ROOTED,
        optional=_ROOTED_OPTIONAL, constraints=_ids(4), inputs=("I1", "I2"), several=True,
    ),
    _id(name="partition_id", evaluate=partition_id),
    _fold(
        name="reduce_scatter", type_function=types.reduce_scatter_type, evaluate=reduce_scatter,
        operands=("operand",), attributes=("scatter_dimension", *_GLOBAL),
        optional=_GLOBAL_OPTIONAL, constraints=_ids(9), inputs=("I1", "I3"), needs_result=True,
    ),
    _id(name="replica_id", evaluate=replica_id),
)  # fmt: skip
"""The ops of this family."""

"""Result types of the ops by which processes communicate.

Every constraint is checked under the specification's id. Constraints on the numbers of replicas and
partitions are checked if the enclosing program states them (`scope`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference.ir.constraints import require
from reference.ir.mesh import MeshGroups
from reference.ir.notation import (
    is_promotable,
    is_unique,
    join_with_commas,
    sizes_agree,
    stated_types,
)
from reference.ir.processes import ProcessGrid
from reference.ir.program import Dense, Program, Region, TensorType
from reference.ir.regions import argument_types, output_types
from reference.ir.types import ELEMENT_TYPES
from reference.ops.distribution.groups import (
    Strategy,
    cross_replica_and_partition,
    ids_of,
    listed_ids,
    strategy_by_channel,
    strategy_by_global_ids,
)
from reference.ops.elementwise.types import ANY_PER_TENSOR

Types = tuple[TensorType, ...]

_ID = TensorType((), ELEMENT_TYPES["ui32"])
_SI64, _SI32 = ELEMENT_TYPES["si64"], ELEMENT_TYPES["si32"]


def grid_of(scope: Program | None) -> ProcessGrid | None:
    """Return the process grid of the enclosing program, or None if unknown."""
    return None if scope is None else scope.process_grid


def id_type(*, result: TensorType | None = None) -> TensorType:
    """Return the result type of `replica_id` and `partition_id`: a scalar of ui32."""
    require("result", result in (None, _ID), result)
    return result or _ID


def _check_tensors(label: str, operands: Types) -> None:
    require(label, all(of in ANY_PER_TENSOR for of in operands), join_with_commas(*operands))


def _is_matrix(label: str, given: Dense) -> bool:
    detail = (given.problem if isinstance(given, MeshGroups) else "") or given.type
    return require(label, given.type.rank == 2 and given.type.element_type == _SI64, detail)


def _check_ids(
    labels: tuple[str, str, str], groups: Sequence[Sequence[int]], count: int | None
) -> None:
    """Require that ids are unique, cover all `count` ids, and are in range.

    If `count` is unknown at least one id is required: groups must not be empty.
    """
    unique, size, bounds = labels
    ids = [number for group in groups for number in group]
    require(unique, is_unique(ids), ids)
    covered = bool(ids) if count is None else len(ids) == count
    require(size, covered, f"{ids} for {'at least 1' if count is None else count} ids")
    require(bounds, all(0 <= number < len(ids) for number in ids), ids)


def _check_bounds(label: str, ids: Sequence[int], count: int | None) -> None:
    inside = all(number >= 0 and (count is None or number < count) for number in ids)
    require(label, inside, f"{list(ids)} of {count} ids")


def _count(strategy: Strategy, scope: Program | None) -> int | None:
    grid = grid_of(scope)
    return None if grid is None else ids_of(strategy, grid)


def _group_size(strategy: Strategy, given: Dense, scope: Program | None) -> int | None:
    """Return `dim(process_groups, 1)`; None if that depends on an unknown grid."""
    rows = given.type.shape[1]
    grid = grid_of(scope)
    if strategy is not cross_replica_and_partition or rows is None:
        return rows
    return None if grid is None else rows * grid[1]


def _replace_sizes(of: TensorType, sizes: dict[int, int | None]) -> TensorType:
    return replace(of, shape=tuple(sizes.get(d, n) for d, n in enumerate(of.shape)))


def _agree(results: Types, wanted: Types) -> bool:
    """Return whether types are those wanted; a dimension of unknown size agrees with every size."""
    return len(results) == len(wanted) and all(
        result.element_type == of.element_type and _shapes_agree(result, of)
        for result, of in zip(results, wanted, strict=True)
    )


def _shapes_agree(one: TensorType, other: TensorType) -> bool:
    return one.rank == other.rank and all(map(sizes_agree, one.shape, other.shape))


def all_gather_type(
    operands: Types,
    *,
    all_gather_dim: int,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
    results: Types,
    scope: Program | None = None,
) -> Types:
    """Return the result types of `all_gather`: the operands', larger along `all_gather_dim`.

    Raises:
        ConstraintViolation: I1, I3 (types of inputs), C1 (all_gather_dim), C2 to C4
            (replica_groups), C5 (channel_id), C6 (results).
    """
    _check_tensors("I1", operands)
    inside = require("C1", all(0 <= all_gather_dim < of.rank for of in operands), all_gather_dim)
    require("C5", channel_id > 0 or not use_global_device_ids, channel_id)
    if not _is_matrix("I3", replica_groups):
        return results
    strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
    rows: list[list[int]] = replica_groups.array.tolist()
    _check_ids(("C2", "C3", "C4"), rows, _count(strategy, scope))
    if inside:
        size = _group_size(strategy, replica_groups, scope)
        wanted = [_multiply_size(of, all_gather_dim, size) for of in operands]
        require("C6", _agree(results, tuple(wanted)), join_with_commas(*operands, *results))
    return results


def _multiply_size(of: TensorType, dimension: int, by: int | None) -> TensorType:
    size = of.shape[dimension]
    return _replace_sizes(of, {dimension: None if size is None or by is None else size * by})


def _folded_scalar(label: str, operands: Types, computation: Region) -> TensorType | None:
    """Return the scalar type that a computation folds, to which all operands can be promoted."""
    given, returned = argument_types(computation), output_types(computation)
    first = given[0] if given else None
    fits = isinstance(first, TensorType) and first.rank == 0
    fits = fits and given == (first, first) and returned == (first,)
    signature = f"({join_with_commas(*given)}) -> ({join_with_commas(*returned)})"
    if fits and isinstance(first, TensorType):
        fits = all(is_promotable(of.element_type, first.element_type) for of in operands)
    return first if require(label, fits, signature) and isinstance(first, TensorType) else None


def all_reduce_type(
    operands: Types,
    *,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
    computation: Region,
    results: Types | None = None,
    scope: Program | None = None,
) -> Types:
    """Return the result types of `all_reduce`: the operands' shapes, the computation's elements.

    Raises:
        ConstraintViolation: I1, I2 (types of inputs), C1 to C3 (replica_groups), C4 (channel_id),
            C5 (computation), C6 (shapes), C7 (element types).
    """
    _check_tensors("I1", operands)
    require("C4", channel_id > 0 or not use_global_device_ids, channel_id)
    if _is_matrix("I2", replica_groups):
        strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
        _check_ids(("C1", "C2", "C3"), listed_ids(replica_groups), _count(strategy, scope))
    scalar = _folded_scalar("C5", operands, computation)
    if results is not None:
        same = len(results) == len(operands) and all(map(_shapes_agree, results, operands))
        require("C6", same, join_with_commas(*operands, *results))
        folded = scalar is None or all(of.element_type == scalar.element_type for of in results)
        require("C7", folded, join_with_commas(*results))
    return results or _folded_types(operands, scalar)


def _folded_types(operands: Types, scalar: TensorType | None) -> Types:
    """Return the operands' shapes with elements of the type that a computation folds."""
    if scalar is None:
        return operands
    return tuple(replace(of, element_type=scalar.element_type) for of in operands)


def reduce_scatter_type(
    operand: TensorType,
    *,
    scatter_dimension: int,
    replica_groups: Dense,
    channel_id: int = 0,
    use_global_device_ids: bool = False,
    computation: Region,
    result: TensorType,
    scope: Program | None = None,
) -> TensorType:
    """Return the result type of `reduce_scatter`: smaller along `scatter_dimension`.

    Raises:
        ConstraintViolation: I1, I3 (types of inputs), C1, C2 (scatter_dimension), C3 to C5
            (replica_groups), C6 (channel_id), C7 (computation), C8, C9 (result).
    """
    _check_tensors("I1", (operand,))
    inside = require("C2", 0 <= scatter_dimension < operand.rank, scatter_dimension)
    require("C6", channel_id > 0 or not use_global_device_ids, channel_id)
    scalar = _folded_scalar("C7", (operand,), computation)
    if scalar is not None:
        require("C9", result.element_type == scalar.element_type, join_with_commas(operand, result))
    if not _is_matrix("I3", replica_groups):
        return result
    strategy = strategy_by_global_ids(channel_id, use_global_device_ids)
    rows: list[list[int]] = replica_groups.array.tolist()
    _check_ids(("C3", "C4", "C5"), rows, _count(strategy, scope))
    if inside:
        count = _group_size(strategy, replica_groups, scope)
        size = operand.shape[scatter_dimension]
        if require("C1", size is None or not count or size % count == 0, operand):
            part = None if size is None or not count else size // count
            wanted = _replace_sizes(operand, {scatter_dimension: part})
            require("C8", _shapes_agree(result, wanted), join_with_commas(operand, result))
    return result


def all_to_all_type(
    operands: Types,
    *,
    split_dimension: int,
    concat_dimension: int,
    split_count: int,
    replica_groups: Dense,
    channel_id: int = 0,
    results: Types | None = None,
    scope: Program | None = None,
) -> Types:
    """Return the result types of `all_to_all`: split along one dimension, joined along another.

    Raises:
        ConstraintViolation: I1, I5 (types of inputs), C1 to C4 (dimensions), C5 to C8
            (replica_groups), C9 (results).
    """
    _check_tensors("I1", operands)
    split = require("C1", all(0 <= split_dimension < of.rank for of in operands), split_dimension)
    joined = all(0 <= concat_dimension < of.rank for of in operands)
    require("C3", joined, concat_dimension)
    counted = require("C4", split_count > 0, split_count)
    even = split and counted and _is_even("C2", operands, split_dimension, split_count)
    if _is_matrix("I5", replica_groups):
        rows: list[list[int]] = replica_groups.array.tolist()
        _check_ids(("C5", "C6", "C7"), rows, _count(strategy_by_channel(channel_id), scope))
        if counted:
            size = replica_groups.type.shape[1]
            require("C8", size == split_count, f"{size}, {split_count}")
    if not (even and joined):
        return results or operands
    wanted = operands
    if split_dimension != concat_dimension:
        wanted = tuple(
            _multiply_size(
                _divide_size(of, split_dimension, split_count), concat_dimension, split_count
            )
            for of in operands
        )
    require(
        "C9", _agree(results or wanted, wanted), join_with_commas(*stated_types(*(results or ())))
    )
    return results or wanted


def _is_even(label: str, operands: Types, dimension: int, count: int) -> bool:
    sizes = [of.shape[dimension] for of in operands]
    return require(
        label, all(n is None or n % count == 0 for n in sizes), join_with_commas(*operands)
    )


def _divide_size(of: TensorType, dimension: int, by: int) -> TensorType:
    size = of.shape[dimension]
    return _replace_sizes(of, {dimension: None if size is None else size // by})


def collective_broadcast_type(
    operands: Types,
    *,
    replica_groups: Dense,
    channel_id: int = 0,
    has_dynamic_root: bool = False,
    results: Types | None = None,
    scope: Program | None = None,
) -> Types:
    """Return the result types of `collective_broadcast`, equal to the data operands' types.

    Raises:
        ConstraintViolation: I1, I2 (types of inputs), C1, C2 (replica_groups), C3 to C5 (operands
            and results). For C6, on values, see `check_roots`.
    """
    _check_tensors("I1", operands)
    _check_groups(("I2", "C1", "C2"), replica_groups, channel_id, scope)
    data = operands[:-1] if has_dynamic_root else operands
    if has_dynamic_root:
        count = len(operands) - 1
        roots = TensorType((count,), _SI32)
        fits = count >= 1 and _agree(operands[-1:], (roots,))
        label = "C4"
    else:
        label, fits = "C3", len(operands) >= 1
    pairs = zip(results or (), data, strict=False)
    same = all(_agree((result,), (of,)) for result, of in pairs)
    require(label, fits and same, join_with_commas(*operands, *(results or ())))  # C3, C4
    require("C5", results is None or len(results) == len(data), join_with_commas(*(results or ())))
    return results or data


def _check_groups(
    labels: tuple[str, str, str], given: Dense, channel_id: int, scope: Program | None
) -> None:
    """Check groups that need not cover all ids: their type, `is_unique`, and their range."""
    kind, unique, bounds = labels
    if not _is_matrix(kind, given):
        return
    ids = [number for group in listed_ids(given) for number in group]
    require(unique, is_unique(ids), ids)
    _check_bounds(bounds, ids, _count(strategy_by_channel(channel_id), scope))


def collective_permute_type(
    operand: TensorType,
    *,
    source_target_pairs: Dense,
    channel_id: int = 0,
    result: TensorType | None = None,
    scope: Program | None = None,
) -> TensorType:
    """Return the result type of `collective_permute`: the operand's.

    Raises:
        ConstraintViolation: I1, I2 (types of inputs), C1 to C4 (source_target_pairs), C5 (result).
    """
    _check_tensors("I1", (operand,))
    if _is_matrix("I2", source_target_pairs):
        check_pairs(source_target_pairs, _count(strategy_by_channel(channel_id), scope))
    require(
        "C5", result is None or _agree((result,), (operand,)), join_with_commas(operand, result)
    )
    return result or operand


def check_pairs(given: Dense, count: int | None) -> None:
    """Check C1 to C4 of `source_target_pairs`, a matrix; `count` is the number of ids, if known."""
    if not require("C1", given.type.shape[1] == 2, given.type):
        return
    pairs: list[list[int]] = given.array.tolist()
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    require("C2", is_unique(sources), sources)
    require("C3", is_unique(targets), targets)
    _check_bounds("C4", [*sources, *targets], count)


def collective_reduce_type(
    operands: Types,
    *,
    replica_groups: Dense,
    channel_id: int = 0,
    has_dynamic_root: bool = False,
    computation: Region,
    results: Types | None = None,
    scope: Program | None = None,
) -> Types:
    """Return the result types of `collective_reduce`: the shapes of the data operands.

    Raises:
        ConstraintViolation: I1, I2 (types of inputs), C1, C2 (replica_groups), C3 (shapes and
            roots), C4 (computation).
    """
    _check_tensors("I1", operands)
    _check_groups(("I2", "C1", "C2"), replica_groups, channel_id, scope)
    data, fits = operands, bool(operands)
    if has_dynamic_root:
        data = operands[:-1]
        roots = TensorType((len(data),), _SI32)
        fits = len(operands) > 1 and _agree(operands[-1:], (roots,))
    scalar = _folded_scalar("C4", data, computation)
    if results is not None:
        fits = fits and len(results) == len(data) and all(map(_shapes_agree, results, data))
    require("C3", fits, join_with_commas(*operands, *(results or ())))
    return results or _folded_types(data, scalar)

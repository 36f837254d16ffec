"""Writes at computed indices: scatter.

The specification applies the updates one after another, in an implementation-defined order; here it
is the order of the updates' indices. If no element is written twice, all updates are applied at
once. Otherwise updates of one element are first combined with each other, if grouping cannot change
the result, or else applied in rounds, with one update per element in a round. Sums and products of
floating-point numbers, whose rounding depends on the order, are accumulated in wider arithmetic and
rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference.ir.monoid import Monoid
from reference.ir.program import Region, TensorType
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_to, to_float64
from reference.ops.indexed.indexing import (
    axis_indices,
    batch_positions,
    index_vectors,
    spread,
    strides_of,
)

Dims = tuple[int, ...]


def scatter(
    inputs: tuple[Array, ...],
    scatter_indices: Array,
    updates: tuple[Array, ...],
    *,
    update_window_dims: Dims,
    inserted_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    index_vector_dim: int,
    update_computation: Body,
    input_batching_dims: Dims = (),
    scatter_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - nothing to gain here
    unique_indices: bool = False,  # noqa: ARG001 - nothing to gain here
) -> tuple[Array, ...]:
    """Return `inputs` with updates applied by `update_computation`; updates out of bounds are
    dropped.

    Bounds are checked for each element of a window separately.

    Args:
        inputs: arrays of one shape.
        scatter_indices: index vectors along `index_vector_dim`, or single indices.
        updates: arrays of one shape: windows for every index vector.
        update_window_dims: dimensions of `updates` that are dimensions of windows.
        inserted_window_dims: dimensions of `inputs` that windows lack.
        scatter_dims_to_operand_dims: the dimension of `inputs` of each component of an index
            vector.
        index_vector_dim: the dimension of `scatter_indices` with the components of index vectors.
        update_computation: takes an element of each input and of each update.
        input_batching_dims: batching dimensions of `inputs`.
        scatter_indices_batching_dims: the same dimensions of `scatter_indices`.
        indices_are_sorted: a promise that the result does not depend on.
        unique_indices: a promise that the result does not depend on.

    Returns:
        New arrays of the shape of the inputs, of the types that the computation returns.
    """
    writes = positions(
        inputs[0].shape,
        scatter_indices,
        updates[0].shape,
        update_window_dims=update_window_dims,
        inserted_window_dims=inserted_window_dims,
        scatter_dims_to_operand_dims=scatter_dims_to_operand_dims,
        index_vector_dim=index_vector_dim,
        input_batching_dims=input_batching_dims,
        scatter_indices_batching_dims=scatter_indices_batching_dims,
    ).reshape(-1)
    kept = np.flatnonzero(writes >= 0)
    types = _element_types(update_computation.region)
    flat = [convert_to(of, to).reshape(-1) for of, to in zip(inputs, types, strict=True)]
    given = [convert_to(of, to).reshape(-1)[kept] for of, to in zip(updates, types, strict=True)]
    if kept.size:
        apply(flat, writes[kept], given, update_computation)
    return tuple(array.reshape(inputs[0].shape) for array in flat)


def _element_types(region: Region) -> tuple[ElementType, ...]:
    return tuple(of.stored for of in output_types(region) if isinstance(of, TensorType))


def positions(
    shape: Sequence[int],
    scatter_indices: Array,
    updates_shape: Sequence[int],
    *,
    update_window_dims: Dims,
    inserted_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    index_vector_dim: int,
    input_batching_dims: Dims = (),
    scatter_indices_batching_dims: Dims = (),
) -> Array:
    """Return the flat, row-major position in an input of `shape` for each element of the updates.

    -1 if out of bounds. Has the shape of the updates, int64.
    """
    rank = len(updates_shape)
    scatter_dims = [d for d in range(rank) if d not in update_window_dims]
    index = start_indices_of(
        shape,
        scatter_indices,
        updates_shape,
        update_window_dims=update_window_dims,
        scatter_dims_to_operand_dims=scatter_dims_to_operand_dims,
        index_vector_dim=index_vector_dim,
    )
    batches = batch_positions(scatter_indices_batching_dims, index_vector_dim)
    for d, at in zip(input_batching_dims, batches, strict=True):
        index[d] = index[d] + axis_indices(shape[d], scatter_dims[at], rank)
    dropped = inserted_window_dims + input_batching_dims
    window = (d for d in range(len(shape)) if d not in dropped)
    for d, axis in zip(window, update_window_dims, strict=True):
        index[d] = index[d] + axis_indices(updates_shape[axis], axis, rank)
    position, inside = np.zeros((1,) * rank, np.int64), np.ones((1,) * rank, np.bool_)
    for size, stride, at in zip(shape, strides_of(shape), index, strict=True):
        valid = np.asarray((at >= np.int64(0)) & (at < np.int64(size)))
        inside = inside & valid
        position = position + np.where(valid, at, 0) * stride
    return np.broadcast_to(np.where(inside, position, -1), updates_shape)


def start_indices_of(
    shape: Sequence[int],
    scatter_indices: Array,
    updates_shape: Sequence[int],
    *,
    update_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    index_vector_dim: int,
) -> list[Array]:
    """Return the specification's `full_start_index` for each dimension of an input of `shape`.

    It broadcasts to the shape of the updates.
    """
    rank = len(updates_shape)
    vectors = index_vectors(scatter_indices, index_vector_dim)
    scatter_dims = [d for d in range(rank) if d not in update_window_dims]
    starts = [np.zeros((1,) * rank, np.int64) for _ in shape]
    components = spread(vectors, scatter_dims, rank)
    for d, start in zip(scatter_dims_to_operand_dims, components, strict=True):
        starts[d] = start
    return starts


@dataclass(frozen=True, slots=True)
class Groups:
    """Updates sorted by target element, then by their own order.

    `order` are the indices of the updates in this order, `targets` their target elements, `rank`
    the number of earlier updates of the same element.
    """

    order: Array
    targets: Array
    rank: Array

    @property
    def max_updates(self) -> int:
        """The largest number of updates of any element."""
        return int(self.rank.max(initial=-1)) + 1


def group_updates(targets: Array) -> Groups:
    """Return the updates grouped by target, given each update's (flat, valid) target."""
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    count = np.arange(len(ordered))
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    return Groups(order, ordered, count - np.maximum.accumulate(np.where(first, count, 0)))


def apply(flat: Sequence[Array], targets: Array, given: Sequence[Array], body: Body) -> None:
    """Apply updates to flat arrays, in place, in the given order.

    Args:
        flat: an array of elements for each input.
        targets: the position that each update writes; valid positions.
        given: the updates, one array for each input.
        body: the computation.
    """
    groups = group_updates(targets)
    if groups.max_updates == 1:
        _apply_round(flat, targets, given, body)
        return
    chosen = overwriting_updates(body.region)
    element_type = element_type_of(flat[0])
    if chosen is not None:
        last = np.r_[groups.targets[1:] != groups.targets[:-1], True]
        for index, update in enumerate(chosen):
            flat[index][groups.targets[last]] = given[update][groups.order[last]]
    elif is_associative(body.monoid, element_type):
        at, combined = _combine_updates(groups, given, body)
        _apply_round(flat, at, combined, body)
    elif body.monoid is not None and body.monoid.rounds:
        _accumulate(flat[0], groups, given[0], body)
    else:
        _apply_rounds(flat, groups, given, body)


def overwriting_updates(region: Region) -> tuple[int, ...] | None:
    """Return the indices of the updates that the computation returns unchanged, in order, or
    None."""
    count = len(argument_types(region)) // 2
    names = [argument.name for argument in region.arguments[count:]]
    if len(region.operations) != 1:
        return None
    returned = [operand.name for operand in region.operations[0].operands]
    return tuple(map(names.index, returned)) if set(returned) <= set(names) else None


def is_associative(monoid: Monoid | None, element_type: ElementType) -> bool:
    """Return whether a commutative op gives the same result in every order.

    Only sums and products of floating-point and complex numbers do not.
    """
    if monoid is None:
        return False
    return not monoid.rounds or element_type.is_integer or element_type.is_boolean


def _apply_round(flat: Sequence[Array], targets: Array, given: Sequence[Array], body: Body) -> None:
    """Apply updates that all write different elements."""
    new = body.lanes(*(array[targets] for array in flat), *given)
    for array, values in zip(flat, new, strict=True):
        array[targets] = values


def _apply_rounds(
    flat: Sequence[Array], groups: Groups, given: Sequence[Array], body: Body
) -> None:
    """Apply the first update of every element, then the second updates, and so on."""
    by_rank = np.argsort(groups.rank, kind="stable")
    ends = np.cumsum(np.bincount(groups.rank))
    for start, end in zip((0, *ends[:-1]), ends, strict=True):
        now = by_rank[start:end]
        _apply_round(flat, groups.targets[now], [of[groups.order[now]] for of in given], body)


def _combine_updates(
    groups: Groups, given: Sequence[Array], body: Body
) -> tuple[Array, tuple[Array, ...]]:
    """Combine all updates of an element: neighbours first, then neighbouring results."""
    targets, rank = groups.targets, groups.rank
    values = tuple(of[groups.order] for of in given)
    while rank.max(initial=0) > 0:
        left = np.flatnonzero((rank[:-1] % 2 == 0) & (rank[1:] > rank[:-1]))
        new = body.lanes(*(of[left] for of in values), *(of[left + 1] for of in values))
        for array, combined in zip(values, new, strict=True):
            array[left] = combined
        kept = rank % 2 == 0
        targets, rank = targets[kept], rank[kept] // 2
        values = tuple(array[kept] for array in values)
    return targets, values


def _accumulate(flat: Array, groups: Groups, given: Array, body: Body) -> None:
    """Accumulate sums or products of floating-point or complex numbers, rounded once at the end.

    For elements with a single update the computation itself is used, which rounds correctly.
    """
    more = np.r_[groups.rank[1:] > 0, False] | (groups.rank > 0)
    once = ~more
    _apply_round([flat], groups.targets[once], [given[groups.order[once]]], body)
    wide, element_type = _widen(flat), element_type_of(flat)
    assert body.monoid is not None
    body.monoid.ufunc.at(wide, groups.targets[more], _widen(given)[groups.order[more]])
    touched = groups.targets[more & (groups.rank == 0)]
    flat[touched] = _round_once(wide[touched], element_type)


def _widen(array: Array) -> Array:
    element_type = element_type_of(array)
    if element_type.is_complex:
        return array.astype(np.complex128 if element_type.part.bits == 32 else np.clongdouble)
    return array.astype(np.longdouble) if element_type.name == "f64" else to_float64(array)


def _round_once(wide: Array, element_type: ElementType) -> Array:
    if not element_type.is_complex:
        return round_to(wide, element_type)
    parts = (round_to(part(wide).copy(), element_type.part) for part in (np.real, np.imag))
    return np.stack(list(parts), axis=-1).view(element_type.storage)[..., 0]

"""Unspecified results of gather, scatter and torch_index_select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.interpreter.evaluate import EvaluationError, body_of
from reference.ir.monoid import ADD
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Segments
from reference.ops.indexed.gather import start_indices_of
from reference.ops.indexed.scatter import start_indices_of as scatter_starts
from reference.ops.indexed.update_orders import (
    MAX_ORDERED_UPDATES,
    Scattering,
    decompose_scatter,
    order_dependent_elements,
    update_positions,
)
from reference.unspecified.bodies import unspecified_in_lanes
from reference.unspecified.reasons import Reason, Unspecified


def _attributes(operation: Operation) -> dict[str, Any]:
    return dict(operation.attributes)


def _are_sorted(starts: Sequence[Array]) -> bool:
    """Return whether index vectors, given by components, are in lexicographic order, row-major."""
    shape = np.broadcast_shapes(*(start.shape for start in starts))
    flat = [np.broadcast_to(start, shape).reshape(-1) for start in starts]
    undecided = np.ones(max(flat[0].size - 1, 0), np.bool_)
    for component in flat:
        if (undecided & (component[1:] < component[:-1])).any():
            return False
        undecided &= component[1:] == component[:-1]
    return True


def _unsorted_gather(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return all elements if `indices_are_sorted` is set and the full start indices are not sorted.

    Spec, "gather": undefined; the order is the order of the result's indices.
    """
    given = _attributes(operation)
    if not given.get("indices_are_sorted", False):
        return []
    if operation.name == "dynamic_gather":
        given["slice_sizes"] = tuple(int(size) for size in operands[2])
    starts = start_indices_of(operands[0].shape, operands[1], **_dims(given))
    shaped = [np.broadcast_to(start, result.shape) for start in starts]
    unsorted_ = bool(shaped) and not _are_sorted(shaped)
    return [("indices said to be sorted", np.asarray(unsorted_))]


def _dims(given: dict[str, Any]) -> dict[str, Any]:
    names = ("offset_dims", "start_index_map", "index_vector_dim", "slice_sizes")
    return {name: given[name] for name in names}


def _empty_slice(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return all elements if a slice is empty along a dropped dimension.

    Spec, "gather": slice sizes of 0 are valid for dropped dimensions (C9, C12), but the result's
    elements would then lie outside of the slice, or even of the operand.
    """
    given = _attributes(operation)
    sizes = given.get("slice_sizes")
    if sizes is None:
        sizes = tuple(int(size) for size in operands[2])
    dropped = (*given["collapsed_slice_dims"], *given.get("operand_batching_dims", ()))
    return [("element of an empty slice", np.asarray(any(sizes[d] == 0 for d in dropped)))]


def _torch_out_of_range(
    operation: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    """Return elements at indices out of range; `torch_index_select` is no longer specified."""
    given = _attributes(operation)
    size, batches, dim = operands[0].shape[given["dim"]], given["batch_dims"], given["dim"]
    index = operands[1]
    outside = (index.astype(object) < 0) | (index.astype(object) >= size)
    middle = (1,) * (dim - batches)
    after = (1,) * (operands[0].ndim - dim - 1)
    shape = index.shape[:batches] + middle + index.shape[batches:] + after
    mask = np.asarray(outside, np.bool_).reshape(shape)
    return [("index out of range", np.broadcast_to(mask, result.shape))]


def _broken_promises(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return elements if `indices_are_sorted` or `unique_indices` is set but does not hold.

    Spec, "scatter": undefined. Its formula for sorted refers to the indices of the result; it must
    mean indices of the updates, since only these have start indices.
    """
    given, count = _attributes(operation), len(operands) // 2
    inputs, indices, updates = operands[0], operands[count], operands[count + 1]
    found: list[Unspecified] = []
    if given.get("indices_are_sorted", False):
        starts = scatter_starts(
            inputs.shape, indices, updates.shape,
            update_window_dims=given["update_window_dims"],
            scatter_dims_to_operand_dims=given["scatter_dims_to_operand_dims"],
            index_vector_dim=given["index_vector_dim"],
        )  # fmt: skip
        shaped = [np.broadcast_to(start, updates.shape) for start in starts]
        unsorted_ = bool(shaped) and not _are_sorted(shaped)
        found.append(("indices said to be sorted", np.asarray(unsorted_)))
    if given.get("unique_indices", False):
        places = update_positions(operation, inputs, indices, updates)
        places = places[places >= 0]
        twice = np.unique(places).size < places.size
        found.append(("indices said to be unique", np.asarray(twice)))
    return found


def _order_dependent(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> list[Unspecified]:
    """Return elements that depend on the implementation-defined order of updates.

    Spec, "scatter". Rounding of sums and products is excluded because it has bounds; unspecified
    results of the computation's operations are included.
    """
    try:
        parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
        inside = _computation_reasons(parts)
        order = (
            _overflow(parts) if parts.is_sum_or_product else order_dependent_elements(parts, number)
        )
    except EvaluationError:  # the computation uses outer values, which are unknown here
        return [("computation that is not known", np.ones(result.shape, np.bool_))]
    found = [("order of the updates", order), *inside]
    return [(label, mask.reshape(result.shape)) for label, mask in found]


def _computation_reasons(parts: Scattering) -> list[Unspecified]:
    """Return the unspecified results of the computation's operations; flat masks."""
    found: list[Unspecified] = []
    for count in range(1, MAX_ORDERED_UPDATES + 1):
        targets, numbers = parts.colliding_updates(count)
        if not targets.size:
            continue
        for arguments, _ in parts.apply_in_order(targets, list(numbers)):
            for label, mask in unspecified_in_lanes(parts.body, arguments):
                whole = np.zeros(len(parts.inputs[0]), np.bool_)
                whole[targets] = mask
                found.append((label, whole))
    return found


def _overflow(parts: Scattering) -> Array:
    """Return a flat mask of sums and products for which the order decides about overflow."""
    values, leaves = update_leaves(parts)
    element_type = element_type_of(values)
    if parts.body.monoid is ADD:
        open_ = (
            accumulation.is_complex_sum_unspecified
            if element_type.is_complex
            else accumulation.sum_may_overflow
        )
        init = (
            np.zeros((), element_type.storage)
            if not element_type.is_float or element_type.float_format.has_zero
            else None
        )
    else:
        open_ = (
            accumulation.is_complex_product_unspecified
            if element_type.is_complex
            else accumulation.product_may_leave_range
        )
        init = np.ones((), element_type.storage)
    if init is None:
        return parts.counts > 0  # sums in f8E8M0FNU
    return open_(values, init, leaves) & (parts.counts > 0)


def update_leaves(parts: Scattering) -> tuple[Array, Segments]:
    """Return input elements and updates as leaves of a sum or product for each result."""
    size = len(parts.inputs[0])
    order = parts.groups.order
    values = np.concatenate([parts.inputs[0], parts.updates[0][order]])
    return values, Segments((size,), np.concatenate([np.arange(size), parts.groups.targets]))


REASONS: dict[str, tuple[Reason, ...]] = {
    "dynamic_gather": (_unsorted_gather, _empty_slice),
    "gather": (_unsorted_gather, _empty_slice),
    "scatter": (_broken_promises, _order_dependent),
    "torch_index_select": (_torch_out_of_range,),
}
"""The reasons by op."""

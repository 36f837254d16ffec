"""Results of operations whose comparisons treat subnormal numbers as zeros.

There may be many: any of several equal elements may be selected, as the order of a reduction or of
updates is unspecified. Extrema are recognised by their elements, other bodies by the orders that
are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.known import in_f32
from conformance.tolerance.rule import Rule
from conformance.tolerance.ulp import bound_distances
from conformance.transforms.flushed_comparison import flush_comparisons
from conformance.transforms.outline import outline_region
from reference.interpreter.evaluate import EvaluationError, body_of, evaluate
from reference.ir.program import Operation, Region
from reference.ir.regions import components
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.alike import flush_subnormals, has_subnormals
from reference.numerics.rounding import to_float64
from reference.ops.folds import folding
from reference.ops.folds.reduction import FOLDS
from reference.ops.indexed import update_orders
from reference.ops.table import OPS
from reference.unspecified.reduction import (
    SCHEDULES,
    decompose_reduction,
    differing_elements,
    sequential_selection,
)

Operands = tuple[Array, ...]
Results = tuple[Array, ...]


def explained_elements(
    operation: Operation, operands: Operands, actual: Results, rule: Rule
) -> tuple[Array, ...]:
    """Return masks of the elements explained by comparisons with flushed numbers."""
    found = [np.zeros(array.shape, np.bool_) for array in actual]
    try:
        for region in _regions(operation, operands):
            *_, last, _ = region.operations
            chosen = _selectable_elements(operation, last, operands, actual)
            for results in _outcomes(region, operation, operands):
                right = _right_elements(last, operands, results, actual, rule)
                for index, want in enumerate(results):
                    found[index] |= right[index] | (chosen[index] & _is_tiny(want))
    except EvaluationError:  # a region names values around it, which are not known here
        return tuple(np.zeros_like(mask) for mask in found)
    return tuple(found)


def operations(operation: Operation, operands: Operands) -> tuple[Operation, ...]:
    """Return variants of an operation whose regions compare with flushed subnormals.

    Empty if flushing makes no difference.
    """
    return tuple(region.operations[-2] for region in _regions(operation, operands))


def _regions(operation: Operation, operands: Operands) -> tuple[Region, ...]:
    """Return regions that give the operation's results on its operands if comparisons are
    flushed.
    """
    given: tuple[Any, ...] = operands  # tokens and tuples, too
    if not any(isinstance(one, np.ndarray) and has_subnormals(one) for one in given):
        return ()
    arguments = tuple(dict.fromkeys(operation.operands))
    end = Operation("return", operation.results)
    return flush_comparisons(Region(arguments, (operation, end)))


def _is_tiny(array: Array) -> Array:
    """Return which elements are subnormal or zero."""
    element_type = element_type_of(array)
    if not element_type.is_float:
        return np.zeros(array.shape, np.bool_)
    return np.abs(to_float64(array)) < element_type.float_format.smallest_normal


def _outcomes(region: Region, operation: Operation, operands: Operands) -> Iterator[Results]:
    """Yield the results of the region; if it ends with a reduction, the results in several
    orders.
    """
    *_, last, _ = region.operations
    if last.name in FOLDS:
        yield from _fold_selections(last, operands)
        return
    given = dict(zip(operation.operands, operands, strict=True))  # one value may come twice
    yield evaluate(outline_region(region)[0], tuple(given.values()))


def _fold_selections(operation: Operation, operands: Operands) -> Iterator[Results]:
    for selection in (folding.tree, sequential_selection):
        parts = decompose_reduction(operation, operands, selection)
        for schedule in SCHEDULES:
            yield folding.fold_by_schedule(
                parts.body.lanes, parts.values, parts.inits, parts.leaves, schedule
            )
        if operation.name != "select_and_scatter":
            return


def _right_elements(
    coarse: Operation, operands: Operands, results: Results, actual: Results, rule: Rule
) -> tuple[Array, ...]:
    """Return a mask of elements that are right for an operation with these results. A selected
    number may be flushed, too.
    """
    found = [
        ~differing_elements(want, got) | _is_flushed(want, got)
        for want, got in zip(results, actual, strict=True)
    ]
    if coarse.name == "scatter":  # several updates of an element come in any order
        parts = update_orders.decompose_scatter(coarse, operands, body_of(coarse.regions[0]))
        few = (parts.counts > 1) & (parts.counts <= update_orders.MAX_ORDERED_UPDATES)
        possible = few & ~update_orders.unexplained_elements(parts, actual)
        found = [mask | possible.reshape(mask.shape) for mask in found]
    if rule.bound is not None:
        for index, bound in enumerate(rule.bound(coarse, operands, results)):
            if bound is not None:
                flat = (x.reshape(-1) for x in (results[index], actual[index], bound))
                found[index] |= (bound_distances(*flat) <= 1).reshape(bound.shape)
    if rule.permits is not None:
        for index, mask in enumerate(rule.permits(coarse, operands, results, actual)):
            found[index] |= False if mask is None else mask
    return tuple(found)


def _is_flushed(result: Array, actual: Array) -> Array:
    """Return a mask of zeros in place of subnormal numbers, in types that are not computed in f32,
    where these are normal.
    """
    element_type = element_type_of(result)
    if not element_type.is_float or in_f32.are_normal((element_type,)):
        return np.zeros(result.shape, np.bool_)
    return ~differing_elements(flush_subnormals(result), actual)


def _selectable_elements(
    operation: Operation, coarse: Operation, operands: Operands, actual: Results
) -> tuple[Array, ...]:
    """Return a mask of the elements that a selection may give if subnormal numbers and zeros are
    equal.

    An extremum that is subnormal or zero may be any of its subnormal or zero elements.
    """
    nothing = tuple(np.zeros(array.shape, np.bool_) for array in actual)
    scatters = operation.name not in FOLDS
    if not OPS[operation.name].body_types:
        return nothing
    found: list[Array] = []
    for index, monoid in enumerate(components(operation.regions[-1])):
        bits = to_bits(actual[index])
        if monoid is None or not monoid.extremum or bits.ndim > actual[index].ndim:
            found.append(nothing[index])
        elif scatters:
            found.append(_is_update(operation, operands, bits, index))
        else:
            found.append(_is_leaf(coarse, operands, bits, index))
    return tuple(mask & _is_tiny(got) for mask, got in zip(found, actual, strict=True))


def _is_leaf(coarse: Operation, operands: Operands, bits: Array, number: int) -> Array:
    """Return a mask of a reduction's results that have the bits of an element or init value."""
    parts = decompose_reduction(coarse, operands)
    bits = bits.reshape(-1)
    found = bits == to_bits(parts.inits[number])
    for where, rows in parts.leaves.groups(parts.values, parts.inits):
        found[where] |= (to_bits(rows[number]) == bits[where]).any(axis=0)
    return found.reshape(parts.leaves.shape)


def _is_update(operation: Operation, operands: Operands, bits: Array, number: int) -> Array:
    """Return a mask of a scatter's results that have the bits of the input or of an update."""
    parts = update_orders.decompose_scatter(operation, operands, body_of(operation.regions[0]))
    flat = bits.reshape(-1)
    found = flat == to_bits(parts.inputs[number])
    targets = parts.groups.targets
    updates = to_bits(parts.updates[number])[parts.groups.order]
    found[targets[flat[targets] == updates]] = True
    return found.reshape(bits.shape)

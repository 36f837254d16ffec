"""Enclosures of single operations: the set of results, given the sets of the operands.

A point is evaluated by the reference and moved within its tolerances. What is monotonic in each
operand is evaluated at the ends of intervals, data movement at the lower and at the upper ends.
Few integers are taken one by one, so that indices, masks and truth values stay discrete. What no
function here follows may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from conformance.judging.sets.choices import sets_of_trees, sets_of_update_orders
from conformance.judging.sets.facts import (
    Context,
    Sets,
    anything,
    depends_on_zero_signs,
    ends_of,
    everything_like,
    holds_zero,
    may_be_anything,
    may_be_unrounded,
    may_overflow,
    shows_bits,
    static_shape,
    stored,
    widen,
)
from conformance.judging.sets.special import MOST_EXACT, SPECIAL
from conformance.judging.sets.sums import (
    body_increases,
    chosen_operands,
    set_of_products,
    sets_at_both_ends,
    sorts_by_value,
)
from conformance.judging.sets.value_set import (
    Interval,
    Permuted,
    ValueSet,
    greater,
    is_nan,
    lesser,
    to_wide,
    union,
    union_of,
)
from reference.interpreter.evaluate import EvaluationError, apply
from reference.interpreter.quantized import is_quantized_operation
from reference.ir.op import Op, Rounding
from reference.ir.program import Operation, tensor_of
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import round_to, to_float64
from reference.ops.folds.reduction import FOLDS
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_mask

MOST_COMBINATIONS = 12
"""Largest number of combinations of intervals; beyond it, the intervals of operands are joined."""

MOST_POINTS = 48
"""Largest number of combinations of single values; beyond it, they are intervals."""

BY_PARTS = (np.add, np.subtract, np.negative)
"""Functions of complex numbers that act on each part."""

MATRICES = 2
"""Number of operands whose products are summed."""

FEW = 12
"""Largest number of integers in an interval that are taken one by one."""

Corners = Sequence[tuple[Array, ...]]
"""The corners of a box of operands: points, each with an array for each operand."""


@dataclass(frozen=True, slots=True)
class Enclosures:
    """Enclosures on a platform, which selects the figures of rules.

    They are `is_strict` if every value is rounded as its operation says.
    """

    platform: str
    is_strict: bool = False

    def of(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        """Return the sets of an operation's results.

        Explicit roundings take values as they are stored, other operations as a compiler may leave
        them; data movement and changes of sign act on both. Regions have no free values but
        constants (see `embed_free_values`). Results must be tensors.
        """
        context = Context(self.platform)
        enclose, enclose_strictly = (
            _Enclosure(one).of for one in (context, Context(self.platform, is_strict=True))
        )
        record = OPS.get(operation.name)
        rounded = [operand.rounded for operand in operands]
        if record is None or record.only_rounds or self.is_strict:
            return enclose_strictly(operation, rounded)
        loose = [operand.loose for operand in operands]
        found = enclose(operation, loose)
        if record.rounding is Rounding.MOVES or record.is_sign_only:
            if all(operand.unrounded is None for operand in operands):
                return found
            stored = enclose(operation, rounded)
        elif may_be_unrounded(operation, context):
            stored = enclose_strictly(operation, loose)
            found = tuple(_before_overflow(one, loose) for one in found)
        else:
            return found
        pairs = zip(stored, found, strict=True)
        return tuple(one.with_unrounded(other) for one, other in pairs)


@dataclass(frozen=True, slots=True)
class _Enclosure:
    """Enclosures with the tolerances of a context."""

    context: Context

    def of(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        """Return the sets of an operation's results."""
        if operation.attribute("rng_distribution") == "UNIFORM":
            return (_uniform(operation, operands),)
        if may_be_anything(operation):
            return anything(operation)
        try:
            with np.errstate(all="ignore"):
                if all(operand.is_point for operand in operands):
                    return self._at_point(operation, operands)
                return self._of_intervals(operation, operands)
        except EvaluationError:
            return anything(operation)

    # --- Points ----------------------------------------------------------------------------------

    def _at_point(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        given = [operand.point for operand in operands]
        results, ends = ends_of(self.context, operation, given)
        exact = all(operand.exact for operand in operands)
        if not exact and shows_bits(operation):
            return self._of_intervals(operation, operands)
        moves = OPS[operation.name].rounding is Rounding.MOVES
        ties = _tied_rows(operation, given, results)
        others: Sequence[ValueSet] | None = None
        found: list[ValueSet] = []
        for index, (result, (low, high)) in enumerate(zip(results, ends, strict=True)):
            nan = is_nan(result)
            is_same = low is result and high is result
            has_bits = moves or not nan.any()  # those of a computed NaN are unspecified
            made = ValueSet(((low, high),), nan, exact=exact and is_same and bool(has_bits))
            open_ = unspecified_mask(operation, given, result, index)
            if not (moves and is_same):
                open_ = open_ | may_overflow(low, high, nan)
            if ties is not None:
                open_ = open_ | ties[index]
            if not exact:
                open_ |= depends_on_zero_signs(operation, operands, result.shape)
            if open_.any():
                others = others or _of_choices(operation, operands, results)
                choice = others[index]
                rounded = choice if is_same else union_of([choice, made])  # sums in any precision
                made = replace(made.where(open_, rounded), permuted=choice.permuted)
            found.append(made)
        return tuple(found)

    # --- Intervals -------------------------------------------------------------------------------

    def _of_intervals(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        name, record = operation.name, OPS[operation.name]
        special = SPECIAL.get(name)
        if special is not None:
            return (special(self.context, operation, operands),)
        if is_quantized_operation(operation):
            return anything(operation)
        if record.lifts:
            return self._of_elements(operation, operands)
        if body_increases(operation):
            return sets_at_both_ends(self.context, operation, operands)
        if name == "sort" and len(operands) == 1 and sorts_by_value(operation):
            return sets_at_both_ends(self.context, operation, operands)
        chosen = chosen_operands(operation)
        if chosen is not None:
            return _of_chosen(operation, operands, chosen)
        accumulates = record.rounding is Rounding.ACCUMULATES and not operation.regions
        if accumulates and len(operands) == MATRICES:
            return (set_of_products(self.context, operation, operands),)
        if record.rounding is Rounding.MOVES and not record.is_bitcast and not operation.regions:
            return self._of_movement(operation, operands)
        return anything(operation)

    def _of_elements(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        """Return the results of an elementwise operation."""
        record = OPS[operation.name]
        if any(operand.element_type.is_complex for operand in operands):
            takes_part = record.rounding is Rounding.MOVES and not stored(operation).is_complex
            if _is_linear_in_parts(record, operands):
                return (self._at_corners_of_parts(operation, operands),)
            if not takes_part and record.unrounded not in BY_PARTS:
                return anything(operation)
        discrete = [_few_values(operand) for operand in operands]
        if all(one is not None for one in discrete):
            choices = [one for one in discrete if one is not None]
            if prod(map(len, choices)) <= MOST_POINTS:
                boxes = ([point] for point in product(*choices))
                return (self._at_boxes(operation, boxes, operands),)
        if not record.monotonic:
            return anything(operation)
        if any(operand.element_type.is_integer for operand in operands) and _may_wrap(
            operation, operands
        ):
            return anything(operation)
        rounds = record.rounding not in (Rounding.MOVES, Rounding.EXACT)
        boxes = (list(product(*intervals)) for intervals in product(*_limited(operands)))
        made = self._at_boxes(operation, boxes, operands, _inner_points)
        if rounds and not record.only_rounds:
            made = widen(self.context, operation, made)
        if record.rounding is Rounding.EXACT and not record.is_sign_only:  # whole numbers
            made = _split_into_steps(made)
        open_ = depends_on_zero_signs(operation, operands, made.shape)
        return (made.where(open_, everything_like(operation, 0, made.shape)),)

    def _at_boxes(
        self,
        operation: Operation,
        boxes: Iterable[Corners],
        operands: Sets,
        inner_of: Callable[[Corners], Corners] | None = None,
    ) -> ValueSet:
        """Return the results between these corners of boxes, an interval for each box.

        Where a corner gives NaN, such as the root of a negative number, the points `inner_of` the
        box tell how far the numbers reach.
        """
        intervals: list[Interval] = []
        nan, mixed = np.zeros((), np.bool_), np.zeros((), np.bool_)
        for corners in boxes:
            found = [self._at_corner(operation, corner) for corner in corners]
            undefined = reduce(np.logical_or, (one.is_undefined for one in found))
            numbers = reduce(np.logical_or, (~one.nan for one in found))
            if bool(undefined.any()):
                inner_points = () if inner_of is None else inner_of(corners)
                inner = [self._at_corner(operation, point) for point in inner_points]
                known = reduce(np.logical_or, (~one.nan for one in inner), np.zeros((), np.bool_))
                mixed = mixed | (undefined & numbers & ~known)
                found += inner
            mixed = reduce(np.logical_or, (one.may_overflow for one in found), mixed)
            nan = reduce(np.logical_or, (one.nan for one in found), nan)
            lows, highs = zip(*(one.ends for one in found), strict=True)
            intervals.append((reduce(lesser, lows), reduce(greater, highs)))
        if OPS[operation.name].unrounded is np.multiply:
            nan = nan | _may_be_zero_times_infinity(operands)
        made = union(intervals, np.broadcast_to(nan, intervals[0][0].shape))
        open_ = np.broadcast_to(mixed, made.shape)
        for end in (0, 1):
            given = [operand.intervals[0][end] for operand in operands]
            open_ = open_ | unspecified_mask(operation, given, made.intervals[0][end], 0)
        return made.where(open_, everything_like(operation, 0, made.shape))

    def _at_corner(self, operation: Operation, corner: tuple[Array, ...]) -> _Corner:
        results, (ends,) = ends_of(self.context, operation, corner)
        nan = is_nan(results[0])
        given = reduce(np.logical_or, map(is_nan, corner))
        return _Corner(ends, nan, nan & ~given, may_overflow(*ends, nan))

    def _at_corners_of_parts(self, operation: Operation, operands: Sets) -> ValueSet:
        """Return products of complex numbers, or quotients by points: each part of an operand
        counts once, so that the corners of rectangles give the ends.
        """
        boxes = (
            list(product(*map(_corners_of_rectangle, intervals)))
            for intervals in product(*_limited(operands))
        )
        made = self._at_boxes(operation, boxes, operands)
        return widen(self.context, operation, made)

    def _of_movement(self, operation: Operation, operands: Sets) -> tuple[ValueSet, ...]:
        """Return the results of data movement: elements of operands at positions that are known."""
        carries = _carried(operation)
        if not carries:
            return anything(operation)
        if any(not operand.is_point for n, operand in enumerate(operands) if n not in carries):
            return self._of_unknown_positions(operation, operands, carries)
        choices = [operand.alternatives() for operand in operands]
        found: list[list[Interval]] = [[] for _ in operation.results]
        for number in range(max(map(len, choices))):
            taken = [choice[min(number, len(choice) - 1)] for choice in choices]
            low, high = (apply(operation, [pair[end] for pair in taken]) for end in (0, 1))
            for kept, a, b in zip(found, low, high, strict=True):
                kept.append((a, b))
        given = [operand.point for operand in operands]
        return tuple(_close(operation, index, kept, given) for index, kept in enumerate(found))

    def _of_unknown_positions(
        self, operation: Operation, operands: Sets, carries: Sequence[int]
    ) -> tuple[ValueSet, ...]:
        """Return the results of data movement by unknown indices: any elements of the operands."""
        others = [operand for n, operand in enumerate(operands) if n not in carries]
        few = [
            _few_values(operand) if not operand.is_point else [operand.point]
            for operand in operands
        ]
        if all(one.is_point or one.shape == () for one in others) or _has_one_index(operation):
            numbers = [n for n in range(len(operands)) if n not in carries]
            choices = [few[n] for n in numbers]
            if all(choices) and prod(len(choice or ()) for choice in choices) <= MOST_COMBINATIONS:
                return self._at_positions(operation, operands, numbers, choices)
        shapes = [one.shape for one in apply(operation, [operand.point for operand in operands])]
        given = [operands[number] for number in carries]
        return tuple(_any_element(operation, index, given, of) for index, of in enumerate(shapes))

    def _at_positions(
        self, operation: Operation, operands: Sets, numbers: Sequence[int], choices: Sequence[Any]
    ) -> tuple[ValueSet, ...]:
        made: list[tuple[ValueSet, ...]] = []
        for chosen in product(*choices):
            given = list(operands)
            for number, array in zip(numbers, chosen, strict=True):
                given[number] = ValueSet(((array, array),), np.zeros(array.shape, np.bool_))
            made.append(self._of_movement(operation, given))
        return tuple(union_of(each) for each in zip(*made, strict=True))


@dataclass(frozen=True, slots=True)
class _Corner:
    """The results that an operation may have at one point: ends, and masks of the elements that
    are NaN, that are NaN though no operand is, and that may overflow to NaN.
    """

    ends: Interval
    nan: Array
    is_undefined: Array
    may_overflow: Array


def _inner_points(corners: Corners) -> Corners:
    """Return points of a box at which an op may be defined though it is not at the corners: the
    largest numbers for infinities and, of one operand, where domains of functions end: -1, 0, 1.
    """
    if not all(element_type_of(one).is_float for one in corners[0]):
        return []
    points = [tuple(map(_finite, corner)) for corner in corners]
    if len(corners[0]) > 1:
        return points
    (low,), (high,) = corners
    for number in (-1.0, 0.0, 1.0):
        given = round_to(np.full(low.shape, number), element_type_of(low))
        inside = greater(low, lesser(high, given))
        points.append((np.where(is_nan(low), low, inside).astype(low.dtype),))
    return points


def _finite(array: Array) -> Array:
    """Return an array with the largest numbers in place of infinities."""
    numbers = to_float64(array)
    largest = element_type_of(array).float_format.max_finite
    near = round_to(np.copysign(largest, numbers), element_type_of(array))
    return np.where(np.isinf(numbers), near, array).astype(array.dtype)


def _is_linear_in_parts(record: Op, operands: Sets) -> bool:
    """Return whether a function of complex numbers is linear in each part of each operand."""
    divides_by_points = record.unrounded is np.divide and operands[-1].is_point
    return record.unrounded is np.multiply or divides_by_points


def _corners_of_rectangle(interval: Interval) -> list[Array]:
    """Return all combinations of the ends of both parts."""
    corners: list[Array] = []
    for real, imaginary in product(interval, interval):
        corner = np.empty_like(real)
        corner.real, corner.imag = np.real(real), np.imag(imaginary)
        corners.append(corner)
    return corners


def _before_overflow(one: ValueSet, operands: Sets) -> ValueSet:
    """Return the set of unrounded numbers: of finite operands, infinity is a large number."""
    if not one.element_type.is_float:
        return one
    finite = np.ones(one.shape, np.bool_)
    for operand in operands:
        if operand.shape == one.shape:
            finite &= np.logical_and(
                *(np.isfinite(to_wide(end)) for end in operand.hull().intervals[0])
            )
    intervals: list[Interval] = []
    largest = np.array(one.element_type.float_format.max_finite).astype(one.element_type.storage)
    for low, high in one.intervals:
        up, down = finite & (to_wide(low) == np.inf), finite & (to_wide(high) == -np.inf)
        ends = np.where(up, largest, low), np.where(down, -largest, high)
        intervals.append((ends[0].astype(low.dtype), ends[1].astype(low.dtype)))
    return replace(one, intervals=tuple(intervals))


def _of_choices(
    operation: Operation, operands: Sets, results: Sequence[Array]
) -> Sequence[ValueSet]:
    """Return the sets of a result's unspecified elements."""
    if operation.name == "scatter":
        given = [operand.point for operand in operands]
        orders = sets_of_update_orders(operation, given, results)
        if orders is not None:
            return orders
    if operation.name in FOLDS:
        trees = sets_of_trees(operation, [operand.point for operand in operands], results)
        if trees is not None:
            return trees
    chosen = chosen_operands(operation) if operation.name == "sort" else None
    if chosen is not None:
        return _of_chosen(operation, operands, chosen)
    return [everything_like(operation, n, result.shape) for n, result in enumerate(results)]


def _tied_rows(
    operation: Operation, operands: Sequence[Array], results: Sequence[Array]
) -> list[Array] | None:
    """Return masks of the rows, in each result of an unstable sort, that change with the order of
    equal elements; None for other operations.
    """
    if operation.name != "sort" or operation.attribute("is_stable"):
        return None
    axis = _sorted_dimension(operation)
    others = apply(operation, [np.flip(operand, axis) for operand in operands])
    return [
        np.broadcast_to(~equal_elements(*pair).all(axis=axis, keepdims=True), pair[0].shape)
        for pair in zip(results, others, strict=True)
    ]


def _sorted_dimension(operation: Operation) -> int:
    along = operation.attribute("dimension")
    return along if isinstance(along, int) else -1


def _of_chosen(
    operation: Operation, operands: Sets, chosen: Sequence[Sequence[int]]
) -> tuple[ValueSet, ...]:
    """Return the sets of results that have elements of some operands each, in any order."""
    found: list[ValueSet] = []
    for index, those in enumerate(chosen):
        shape = static_shape(operation.results[index].type)
        made = _any_element(operation, index, [operands[n] for n in those], shape)
        if operation.name == "sort" and operands[index].is_point:
            whole = Permuted(operands[index].point, _sorted_dimension(operation))
            made = replace(made, permuted=whole)
        found.append(made)
    return tuple(found)


def _has_one_index(operation: Operation) -> bool:
    """Return whether each element of a gather is at one index, in one dimension of the operand."""
    starts: Any = operation.attribute("start_index_map")
    return operation.name in ("gather", "dynamic_gather") and len(starts) == 1


def _any_element(
    operation: Operation, number: int, operands: Sets, shape: tuple[int, ...]
) -> ValueSet:
    """Return the set of a result that has any elements of the operands."""
    element_type = tensor_of(operation.results[number]).stored
    if any(operand.element_type is not element_type for operand in operands):
        return everything_like(operation, number, shape)
    ends = [
        _extreme([operand.hull().intervals[0][end] for operand in operands], end) for end in (0, 1)
    ]
    if ends[0] is None or ends[1] is None:
        return everything_like(operation, number, shape)
    nan = any(bool(operand.nan.any()) for operand in operands)
    low, high = (np.broadcast_to(end, shape) for end in ends if end is not None)
    return ValueSet(((low, high),), np.full(shape, nan))


def _uniform(operation: Operation, operands: Sets) -> ValueSet:
    """Return the numbers between the limits of a uniform distribution."""
    everything = anything(operation)[0]
    low, high = operands[0].hull().intervals[0][0], operands[1].hull().intervals[0][1]
    ends = (np.broadcast_to(low, everything.shape), np.broadcast_to(high, everything.shape))
    return ValueSet((ends,), np.zeros(everything.shape, np.bool_))


def _close(
    operation: Operation, number: int, intervals: Sequence[Interval], operands: Sequence[Array]
) -> ValueSet:
    """Return the set of these intervals, with anything where the specification leaves elements
    open.
    """
    nan = np.any([is_nan(end) for pair in intervals for end in pair], axis=0)
    made = union(intervals, nan)
    open_ = unspecified_mask(operation, operands, intervals[0][0], number)
    return made.where(open_, everything_like(operation, number, made.shape))


def _few_values(one: ValueSet) -> list[Array] | None:
    """Return arrays that have each of the few integers of each element; None if there are many."""
    if one.is_point:
        return [one.point]
    if not (one.element_type.is_integer or one.element_type.is_boolean):
        return None
    found: list[Array] = []
    for low, high in one.intervals:
        apart = high.astype(np.float64) - low.astype(np.float64)
        if bool((apart >= FEW).any()):
            return None
        steps = high.astype(np.int64) - low.astype(np.int64)  # few
        for number in range(int(steps.max(initial=0)) + 1):
            further = low + np.array(number).astype(low.dtype)
            found.append(np.where(steps >= number, further, high).astype(low.dtype))
    return found if len(found) <= MOST_COMBINATIONS else None


def _split_into_steps(one: ValueSet) -> ValueSet:
    """Return a set of whole numbers with each of them apart, if they are few."""
    points: list[Interval] = []
    for low, high in one.intervals:
        a, b = to_wide(low), to_wide(high)
        if not bool(((a == b) | np.isnan(a) | (b - a < FEW)).all()):
            return one
        for number in range(FEW):
            point = np.where(np.isfinite(a), np.minimum(a + number, b), a).astype(low.dtype)
            points.append((point, point))
    return union(points, one.nan)


def _limited(operands: Sets) -> list[list[Interval]]:
    """Return the intervals of each operand, joined if there are too many combinations."""
    choices = [operand.alternatives() for operand in operands]
    if prod(map(len, choices)) <= MOST_COMBINATIONS:
        return choices
    return [operand.hull().alternatives() for operand in operands]


def _may_wrap(operation: Operation, operands: Sets) -> bool:
    """Return whether an integer result may leave its type's range."""
    exact = OPS[operation.name].unrounded
    element_type = stored(operation)
    if not element_type.is_integer or exact is None:
        return not element_type.is_float
    for corner in product(*(operand.hull().intervals[0] for operand in operands)):
        found = np.asarray(exact(*(end.astype(np.float64) for end in corner)))
        beyond = (found < element_type.min_integer) | (found > element_type.max_integer)
        if bool((beyond | (np.abs(found) > MOST_EXACT)).any()):
            return True
    return False


def _may_be_zero_times_infinity(operands: Sets) -> Array:
    """Return a mask of the products that may be NaN though none of the ends' products is."""
    if not operands[0].element_type.is_float:
        return np.zeros(operands[0].shape, np.bool_)
    zero = [holds_zero(operand) for operand in operands]
    ends = [[to_wide(end) for pair in operand.intervals for end in pair] for operand in operands]
    infinite = [np.any([np.isinf(end) for end in each], axis=0) for each in ends]
    return np.asarray((zero[0] & infinite[1]) | (zero[1] & infinite[0]))


def _carried(operation: Operation) -> Sequence[int]:
    """Return the numbers of the operands whose elements the results have."""
    if operation.name in ("gather", "dynamic_gather"):
        return (0,)
    carries = OPS[operation.name].carries
    return range(len(operation.operands)) if carries is None else carries


def _extreme(arrays: Sequence[Array], end: int) -> Array | None:
    """Return the least (end 0) or the greatest element of all arrays; None if they have none."""
    values: Iterator[Array] = (one.reshape(-1) for one in arrays if one.size)
    choose, found = (lesser, greater)[end], None
    for array in values:
        if element_type_of(array).is_complex:
            return None
        wide = to_wide(array)
        if wide.dtype.kind == "f" and bool(np.isnan(wide).all()):
            continue
        best = array[np.nanargmin(wide) if end == 0 else np.nanargmax(wide)]
        found = best if found is None else choose(found, np.asarray(best))
    return found

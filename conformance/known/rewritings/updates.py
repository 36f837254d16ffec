"""In-place updates with a slice of the updated value, which is read while it is overwritten.

dynamic_update_slice(x, slice(x), ...) needs the original elements of x. Written into the memory of
x itself, in order, it may read elements that it has written before. So may an update computed from
the slice element by element, in one kernel.

Source: https://github.com/openxla/xla/issues/49176; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from reference.interpreter.evaluate import apply, given_attributes
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, element_type, element_type_of, from_bits, to_bits
from reference.ops.table import OPS

IN_PLACE = "update read while it is written"

_AT_ONCE = (1, 4, 8, 16, 32, 64)
"""Elements that a kernel may read before it writes them."""
_MOST_COMPUTED = 512
"""Largest number of elements in an update that is computed from a slice."""


def overlapping_updates(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield the results of an update that reads its operand while overwriting it.

    The operation is the update itself, or a reshape of its result.
    """
    update = operation
    if operation.name == "reshape":
        maker = shown.maker(operation.operands[0])
        if maker is None or maker.name != "dynamic_update_slice":
            return
        update = maker
    base, new, *starts = update.operands
    array, to = shown.known_value(base), operation.results[0].type
    if array is None or not isinstance(to, TensorType):
        return
    for taken in _slices(shown, base, new):
        compute = (
            None if taken == new else partial(_recompute, shown, _steps(shown, new, taken), taken)
        )
        for read in _read(shown, base, taken):
            written = _window(array.shape, read.shape, [shown.known_value(one) for one in starts])
            if written is None or (compute is not None and read.size > _MOST_COMPUTED):
                continue
            for at_once in _AT_ONCE:
                result = _update_in_order(array, read, written, at_once, compute)
                if result is not None:
                    yield ValuePrediction(result.reshape(to.static_shape))


def _update_in_order(
    array: Array,
    read: Array,
    written: Array,
    at_once: int,
    compute: Callable[[Array], Array | None] | None,
) -> Array | None:
    """Return the array updated in order, `at_once` elements at a time, with its own elements or
    with what is computed from them; None if that is unknown.
    """
    result, source, target = array.reshape(-1).copy(), read.reshape(-1), written.reshape(-1)
    for place in range(0, read.size, at_once):
        part = slice(place, place + at_once)
        if compute is None:
            result[target[part]] = result[source[part]]
        elif (new := compute(result[read])) is not None:
            result[target[part]] = new.reshape(-1)[part]
        else:
            return None
    return result


def _slices(shown: ObservedProgram, base: Value, new: Value) -> list[Value]:
    """Return the slices of a value from which the update is computed element by element."""

    def is_slice(value: Value) -> bool:
        maker = shown.maker(value)
        return maker is not None and maker.operands[:1] == (base,)

    return [one for one in _sources(shown, new, is_slice) if is_slice(one)]


def _sources(
    shown: ObservedProgram, new: Value, is_end: Callable[[Value], bool]
) -> Iterator[Value]:
    """Yield a value, and the values from which it is computed element by element, each once.

    Operands of a value at which the walk ends are not yielded.
    """
    pending, seen = [new], set[str]()
    while pending:
        value = pending.pop()
        if value.name in seen:
            continue
        seen.add(value.name)
        yield value
        maker = shown.maker(value)
        if maker is not None and _is_elementwise(maker) and not is_end(value):
            pending += reversed(maker.operands)


def _is_elementwise(operation: Operation) -> bool:
    return operation.name in OPS and OPS[operation.name].lifts


def _steps(shown: ObservedProgram, new: Value, taken: Value) -> list[Operation]:
    """Return the operations that compute an update from a slice, in the program's order."""
    sources = {one.name for one in _sources(shown, new, lambda value: value == taken)}
    return [
        one
        for one in shown.program.main.body.operations
        if _is_elementwise(one)
        and one.results[0] != taken
        and any(result.name in sources for result in one.results)
    ]


def _recompute(
    shown: ObservedProgram, steps: list[Operation], taken: Value, elements: Array
) -> Array | None:
    """Return the update for other elements of a slice; None if the values beside it are unknown."""
    known = {taken.name: elements}
    for step in steps:
        operands: list[Array] = []
        for one in step.operands:
            array = known[one.name] if one.name in known else shown.known_value(one)
            if array is None:
                return None
            operands.append(array)
        known[step.results[0].name] = apply(step, operands)[0]
    return known[steps[-1].results[0].name]


def _read(shown: ObservedProgram, base: Value, new: Value) -> Iterator[Array]:
    """Yield the positions in memory of the base's elements that the update reads.

    Unsigned start indices may be misread as signed.
    """
    maker = shown.maker(new)
    array = shown.known_value(base)
    if maker is None or array is None or maker.operands[:1] != (base,):
        return
    given = given_attributes(maker)
    if maker.name == "slice":
        yield _slice_positions(np.arange(array.size).reshape(array.shape), given)
    elif maker.name == "dynamic_slice":
        starts = [shown.known_value(one) for one in maker.operands[1:]]
        for taken in (
            starts,
            [one if one is None else _as_signed(one) for one in starts],
        ):
            window = _window(array.shape, given["slice_sizes"], taken)
            if window is not None:
                yield window


def _slice_positions(places: Array, given: Mapping[str, Any]) -> Array:
    names = ("start_indices", "limit_indices", "strides")
    along = zip(*(given[name] for name in names), strict=True)
    return np.asarray(places[tuple(slice(*one) for one in along)])


def _window(
    shape: tuple[int, ...], sizes: tuple[int, ...], starts: list[Array | None]
) -> Array | None:
    """Return the positions of a window with these start indices, clamped to fit."""
    places, along = np.arange(prod(shape)).reshape(shape), list[slice]()
    for size, taken, start in zip(shape, sizes, starts, strict=True):
        if start is None:
            return None
        first = min(max(int(start), 0), size - taken)
        along.append(slice(first, first + taken))
    return np.asarray(places[tuple(along)])


def _as_signed(indices: Array) -> Array:
    """Return unsigned integers as signed integers of the same bits; others unchanged."""
    of = element_type_of(indices)
    return from_bits(to_bits(indices), element_type(f"si{of.bits}")) if of.is_unsigned else indices

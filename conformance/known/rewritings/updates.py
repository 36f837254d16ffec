"""In-place updates with a slice of the updated value, which is read while it is overwritten.

dynamic_update_slice(x, slice(x), ...) needs the original elements of x. Written into the memory of
x itself, in order, it may read elements that it has written before.

Source: https://github.com/openxla/xla/issues/49176; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from conformance.known.interpreter.indices import reinterpret_as_signed
from conformance.known.rewritings.values import ObservedProgram, ValuePrediction
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array

IN_PLACE = "update read while it is written"

_AT_ONCE = (1, 4, 8, 16, 32, 64)
"""Elements that a kernel may read before it writes them."""


def overlapping_updates(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[ValuePrediction]:
    """Yield the results of an update that reads its operand while overwriting it.

    The operation is the update itself, or a reshape of its result.
    """
    shown = ObservedProgram(program, values)
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
    for read in _read(shown, base, new):
        written = _window(array.shape, read.shape, [shown.known_value(one) for one in starts])
        if written is not None:
            results = (_copy_in_order(array, read, written, at_once) for at_once in _AT_ONCE)
            yield from (ValuePrediction(result.reshape(to.static_shape)) for result in results)


def _copy_in_order(array: Array, read: Array, written: Array, at_once: int) -> Array:
    """Return the array with elements copied within it in order, `at_once` at a time."""
    result, source, target = array.reshape(-1).copy(), read.reshape(-1), written.reshape(-1)
    for place in range(0, read.size, at_once):
        part = slice(place, place + at_once)
        result[target[part]] = result[source[part]]
    return result


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
            [one if one is None else reinterpret_as_signed(one) for one in starts],
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

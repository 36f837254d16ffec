"""Arrays of numbers that satisfy a need: whole numbers, or any numbers within bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from math import inf, isfinite

import numpy as np

from conformance.needs.need import ANY, BITS, DEFINITE, DOMINANT, Need
from generators.values.codes import Words
from generators.values.contents import fill
from generators.values.shaped_values import cast
from reference.ir.program import TensorType
from reference.ir.types import FLOATS, Array, ElementType, bits_dtype, from_bits, to_bits

_REACHES = (1, 1, 2)
"""Largest magnitude of numbers in each input set, where nothing is known about them."""

_INTEGER_REACHES = (3, 8, 12)
"""Largest distance of integers from zero, or from their bound if they have only a lower bound."""

_ANY_BETWEEN = 1
"""Index of the input set of arbitrary numbers; the others hold whole numbers if the bounds permit.
"""

_FINEST = 12
"""Number of binary digits after the point if no whole numbers lie within the bounds."""

_MOST_MATRIX = 1 << 10
"""Largest number of rows of a matrix that is made positive definite."""


_IN_ORDER = "increasing"

_BOUNDS = {"eighths": (-0.125, 0.125), "positive": (0.125, 1.0), _IN_ORDER: (-1.0, 1.0)}
"""Bounds of the numbers in each milder version of inputs."""


def array_of(
    tensor_type: TensorType, need: Need, number: int, tamer: str, seed: int
) -> Array | None:
    """Draw an array for input set `number` that satisfies a need; None if every array does.

    `tamer` is "", "eighths" (numbers of at most 1/8), "positive" (from 1/8 to 1) or "increasing"
    (of at most 1, in order along the last dimension): as far as the need admits that.
    """
    element, shape = tensor_type.element, tensor_type.static_shape
    if element.is_boolean:
        return _truths(need, tamer, shape, Words(seed))
    if need.form == BITS and element.is_integer:
        return fill(tensor_type, "bits", seed)
    if need.form in (DEFINITE, DOMINANT):
        return _matrices(tensor_type, need.form, seed)
    if element.is_integer:
        if need.form:
            return _bits_of_floats(tensor_type, need, number, tamer, seed)
        return None if need == ANY else _integers(element, need, number, shape, Words(seed))
    if need == ANY and not tamer:
        return None
    if element.is_complex:
        return _complex(element, need, number, tamer, shape, seed)
    return _floats(element, need, number, tamer, shape, Words(seed))


def _truths(need: Need, tamer: str, shape: tuple[int, ...], words: Words) -> Array | None:
    """Return i1 values that are mostly true, and true at the start of each row, if the need asks
    for it.
    """
    if not (tamer or need.low >= 0 or need.nonzero):
        return None
    array = ~words.chance(math.prod(shape), 4).reshape(shape or (1,))
    array[..., :1] = True
    return array.reshape(shape)


def _matrices(tensor_type: TensorType, form: str, seed: int) -> Array | None:
    shape = tensor_type.static_shape
    if len(shape) < 2 or shape[-1] != shape[-2] or not 0 < shape[-1] <= _MOST_MATRIX:
        return None
    if tensor_type.element.is_integer:
        return None
    return fill(tensor_type, {DEFINITE: "definite", DOMINANT: "triangular"}[form], seed)


def _bits_of_floats(
    tensor_type: TensorType, need: Need, number: int, tamer: str, seed: int
) -> Array | None:
    """Return integers that hold the bits of floating-point numbers; narrow numbers share an
    integer.
    """
    element = next((one for one in FLOATS if one.name == need.form), None)
    shape, own = tensor_type.static_shape, tensor_type.element
    if element is None or own.bits < 8 or element.bits % own.bits:
        return None
    parts = element.bits // own.bits
    if parts > 1 and (not shape or shape[-1] != parts):
        return None
    inner = TensorType(shape[:-1] if parts > 1 else shape, element)
    numbers = array_of(inner, replace(need, form=""), number, tamer, seed)
    if numbers is None:
        numbers = fill(inner, "unit" if number else "within:-1:1", seed)
    codes = np.ascontiguousarray(to_bits(numbers)).reshape(-1)
    bits = codes.astype(codes.dtype.newbyteorder("<")).view(bits_dtype(own).newbyteorder("<"))
    return np.asarray(from_bits(bits.astype(bits_dtype(own)).reshape(shape), own))


def _integers(
    element_type: ElementType, need: Need, number: int, shape: tuple[int, ...], words: Words
) -> Array:
    low, high = _whole_bounds(element_type, need, number)
    count, wide = math.prod(shape), high - low + 1
    if need.distinct and wide >= count:
        drawn = np.argsort(words.words(wide), kind="stable")[:count] + low
    else:
        drawn = words.below(count, wide) + low
    if need.nonzero:
        drawn = np.where(drawn == 0, high if high else low, drawn)
    if need.in_order:
        drawn = np.sort(drawn)
    return cast(drawn, element_type).reshape(shape)


def _whole_bounds(element_type: ElementType, need: Need, number: int) -> tuple[int, int]:
    """Return the least and the greatest integer to draw: of a type, near zero without bounds."""
    reach = _INTEGER_REACHES[number]
    edge = int(need.is_open)
    low = None if need.low == -inf else max(math.floor(need.low) + edge, math.ceil(need.low))
    high = None if need.high == inf else min(math.ceil(need.high) - edge, math.floor(need.high))
    if low is None:
        low = -reach if high is None else min(high - reach, -reach)
    low = min(max(low, element_type.min_integer), element_type.max_integer)
    if high is None:
        high = low + reach if low >= 0 else max(low + reach, reach)
    high = max(low, min(high, element_type.max_integer, low + (1 << 31) - 1))
    return low, high


def _span(need: Need, reach: float) -> tuple[float, float]:
    """Return the interval to draw from: numbers near zero that satisfy a need."""
    low, high = need.low, need.high
    if isfinite(low) and not isfinite(high):
        start = max(low, -reach)
        return start, start + 2 * reach
    if isfinite(high) and not isfinite(low):
        end = min(high, reach)
        return end - 2 * reach, end
    start, end = max(low, -reach), min(high, reach)
    if start < end or (start == end and not need.is_open):
        return start, end
    return (low, min(high, low + 2 * reach)) if low > 0 else (max(low, high - 2 * reach), high)


def _floats(
    element_type: ElementType,
    need: Need,
    number: int,
    tamer: str,
    shape: tuple[int, ...],
    words: Words,
) -> Array:
    count = math.prod(shape)
    tamed = both_tame(need, tamer)
    low, high = _span(tamed, _REACHES[number])
    if tamer == _IN_ORDER:
        numbers = _increasing_numbers(tamed, low, high, shape, words)
    elif number == _ANY_BETWEEN or tamer:
        numbers = _draw_between(tamed, low, high, count, words)
    else:
        numbers = words.choice(count, _grid(tamed, low, high))
    return cast(numbers, element_type).reshape(shape)


def _increasing_numbers(
    need: Need, low: float, high: float, shape: tuple[int, ...], words: Words
) -> Array:
    """Return numbers that grow along the last dimension, by different steps."""
    rows = words.unit(math.prod(shape)).reshape(shape or (1,)) + 0.25
    sums = np.cumsum(rows, axis=-1)
    edge = (high - low) / 16 if need.is_open else 0.0
    share = sums / (sums[..., -1:] + 0.25) if sums.size else sums
    return low + edge + (high - low - 2 * edge) * share


def both_tame(need: Need, tamer: str) -> Need:
    """Return the need, restricted to numbers near zero or positive numbers if possible."""
    bounds = _BOUNDS.get(tamer)
    if bounds is None:
        return need
    low, high = max(need.low, bounds[0]), min(need.high, bounds[1])
    return replace(need, low=low, high=high) if low < high else need


def _draw_between(need: Need, low: float, high: float, count: int, words: Words) -> Array:
    """Return arbitrary numbers within bounds; excluded bounds and zero are avoided by a sixteenth
    of the interval.
    """
    edge = (high - low) / 16
    if need.is_open:
        low, high = low + edge, high - edge
    numbers = low + (high - low) * words.unit(count)
    if need.nonzero:
        away = np.copysign(edge, numbers) + numbers * (1 - edge / max(-low, high, edge))
        numbers = np.where(np.abs(numbers) < edge, away, numbers)
    return numbers


def _grid(need: Need, low: float, high: float) -> Array:
    """Return the whole numbers from `low` to `high`, or the coarsest binary fractions, that satisfy
    it.
    """
    grid = np.array([low])
    for digits in range(_FINEST):
        step = 2.0**-digits
        grid = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
        if need.is_open:
            grid = grid[(grid > need.low) & (grid < need.high)]
        if need.nonzero:
            grid = grid[grid != 0]
        if len(grid) > 1:
            return grid
    return grid if len(grid) else np.array([(low + high) / 2])


def _complex(
    element_type: ElementType,
    need: Need,
    number: int,
    tamer: str,
    shape: tuple[int, ...],
    seed: int,
) -> Array:
    """Return complex numbers: the real parts fulfil the need, the imaginary parts are arbitrary."""
    parts = [
        _floats(element_type.part, wanted, number, tamer, shape, Words(seed + (n << 96))).astype(
            np.float64
        )
        for n, wanted in enumerate((need, ANY))
    ]
    return cast(parts[0] + 1j * parts[1], element_type)

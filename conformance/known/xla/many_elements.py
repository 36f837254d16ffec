"""Extrema of 4096 elements or more, in the order of YNNPACK's kernels.

The kernels use the x86 instruction, which returns its second operand where either is NaN. So the
order in which they combine elements decides which numbers a NaN discards:

- Along the last dimension, the lanes of a vector take the elements in round-robin order. A NaN
  discards what its lane has accumulated. Then the second half of the lanes is combined with the
  first, until one lane is left.
- Along other dimensions, four rows become one, and a NaN discards the rows before it. Of one to
  three rows that remain, a NaN discards those behind it.

The result of a block replaces the result so far (at first the init value) only if it is greater, or
less for a minimum: a NaN never does. Adjacent dimensions that are reduced whole count as a single
dimension.

Source: jaxlib 0.10.2 and 0.12.0, measured, with vectors of 64 bytes; without blocks of rows 0.12.0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.ir.monoid import Monoid
from reference.ir.types import Array
from reference.numerics.contributions import Leaves, Slices, Windows
from reference.unspecified.reduction import Reduction

LEAST = 4096
"""Smallest number of elements of a reduction that XLA's CPU compiler gives to YNNPACK."""

VECTORS = (64, 32, 16)
"""Sizes in bytes of the vector registers that kernels may use."""

_BLOCK = 1 << 17
"""Bytes of a block of elements that are reduced at once."""

_FOUR = 4
"""Number of rows that are combined at once."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Sizes in bytes: of a vector, and of a block of rows (0 for rows of any number)."""

    vector: int
    block: int = 0


KERNELS = (*(Kernel(size) for size in VECTORS), Kernel(VECTORS[0], _BLOCK))
"""The kernels whose results are predicted."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Elements of each result: the sizes of the reduced dimensions, adjacent dimensions as one.

    `has_last` if the last dimension is reduced, otherwise it has `row` elements.
    """

    runs: tuple[int, ...]
    has_last: bool
    row: int


def fold_extremum(parts: Reduction, monoid: Monoid, kernel: Kernel) -> Array | None:
    """Return the extrema as a kernel computes them, None if no kernel computes the reduction."""
    (values,), (init,) = parts.values, parts.inits
    shape = _shape(parts.leaves) if values.size >= LEAST and monoid.extremum else None
    if shape is None:
        return None
    fold = _Fold(monoid.extremum)
    found = np.full(parts.leaves.shape, init, values.dtype)
    for places, (leaves,) in parts.leaves.groups((values,), (init,)):
        result = np.full(places.shape, init, values.dtype)
        for rows in leaves.reshape(-1, shape.runs[-1], len(places)):
            if shape.has_last:
                result = fold.add_vectors(result, rows, kernel.vector // rows.itemsize)
            else:
                block = kernel.block // (shape.row * rows.itemsize) if kernel.block else len(rows)
                result = fold.add_rows(result, rows, max(block, 1))
        found.reshape(-1)[places] = result
    return found


def _shape(leaves: Leaves) -> _Shape | None:
    """Return the shape of what is reduced; None for windows that overlap or have gaps."""
    if isinstance(leaves, Slices):
        sizes = leaves.given
        window = tuple(n if d in leaves.dimensions else 1 for d, n in enumerate(sizes))
    elif isinstance(leaves, Windows) and _is_tiling(leaves):
        window = leaves.window_dimensions
        sizes = leaves.given
        if any(map(any, leaves.padding)):  # the padded operand ends with the last window
            sizes = tuple(n * taken for n, taken in zip(leaves.shape, window, strict=True))
    else:
        return None
    pairs = [(n, taken) for n, taken in zip(sizes, window, strict=True) if n > 1]
    runs, was_reduced = [1], False
    for size, taken in pairs:
        if was_reduced and taken == size:
            runs[-1] *= taken
        elif taken > 1:
            runs.append(taken)
        was_reduced = taken > 1
    row = 1
    for size, taken in reversed(pairs):
        if taken > 1:
            break
        row *= size
    return _Shape(tuple(runs), was_reduced, row)


def _is_tiling(windows: Windows) -> bool:
    """Return whether windows lie side by side."""
    dense = {*windows.base_dilations, *windows.window_dilations} <= {1}
    is_padded = min((end for pair in windows.padding for end in pair), default=0) >= 0
    return dense and is_padded and windows.window_strides == windows.window_dimensions


@dataclass(frozen=True, slots=True)
class _Fold:
    """Folds of arrays along their first axis; `extremum` is the `Monoid`'s field."""

    extremum: int

    def add_vectors(self, result: Array, elements: Array, lanes: int) -> Array:
        """Combine the result so far with consecutive elements."""
        block = _BLOCK // elements.itemsize
        for start in range(0, len(elements), block):
            part = elements[start : start + block]
            rest = np.full((-len(part) % lanes, *part.shape[1:]), self._worst, part.dtype)
            vectors = np.concatenate([part, rest]).reshape(-1, lanes, *part.shape[1:])
            folded = self._since_last_nan(vectors)
            while len(folded) > 1:
                folded = self._since_last_nan(folded.reshape(2, -1, *folded.shape[1:]))
            result = self._from_first(np.stack([result, folded[0]]))
        return result

    def add_rows(self, result: Array, rows: Array, block: int) -> Array:
        """Combine the result so far with rows, in blocks of `block` rows."""
        for start in range(0, len(rows), block):
            part = rows[start : start + block]
            whole = len(part) // _FOUR * _FOUR
            fours = part[:whole].reshape(-1, _FOUR, *part.shape[1:]).swapaxes(0, 1)
            found = [result[None], self._since_last_nan(fours)]
            if whole < len(part):
                first, *others = part[whole:]
                last = [self._since_last_nan(np.stack(others))] if others else []
                found.append(self._from_first(np.stack([first, *last]))[None])
            result = self._from_first(np.concatenate(found))
        return result

    @property
    def _worst(self) -> float:
        return -self.extremum * np.inf

    def _from_first(self, arrays: Array) -> Array:
        """Fold by replacing a value only by a better one; a NaN is kept if it is the first."""
        numbers = np.where(np.isnan(arrays), self._worst, arrays).astype(arrays.dtype)
        numbers[0] = arrays[0]
        best = np.argmax(numbers * self.extremum, axis=0)
        return np.take_along_axis(numbers, best[None], axis=0)[0]

    def _since_last_nan(self, arrays: Array) -> Array:
        """Fold by keeping a value only if it is better than the next; a NaN is not kept."""
        backwards = arrays[::-1]
        is_lost = np.logical_or.accumulate(np.isnan(backwards), axis=0)
        numbers = np.where(is_lost, self._worst, backwards).astype(arrays.dtype)
        numbers[0] = backwards[0]
        return self._from_first(numbers)

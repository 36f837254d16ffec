"""Running folds by tiles, as XLA's ReduceWindowRewriter computes them.

Windows that are all prefixes (or suffixes) of the elements make `reduce_window` a running fold. XLA
cuts the elements into tiles, folds each, folds the results of tiles in the same way, and combines
the two. Each of these folds begins with the init value, padding takes no part, and the exclusive
prefix of a tile is the body's second argument. So results differ if the init value is not an
identity, or if the body does not commute.

Source: openxla/xla, reduce_window_rewriter.cc; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reference.ir.types import Array
from reference.numerics.contributions import Windows
from reference.ops.folds.folding import Lanes
from reference.unspecified.reduction import Reduction

SIZES = (16, 32, 64, 128)
"""Sizes of tiles that XLA may use, all of which are tried."""

Rows = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class _Fold:
    """A running fold of arrays along their last axis: its body, init values and direction."""

    lanes: Lanes
    inits: Rows
    backwards: bool

    def fold_rows(self, rows: Rows) -> Rows:
        """Return the fold of each window on its own, from the init values, in order."""
        size, sizes = rows[0].shape[-1], rows[0].shape[:-1]
        results = tuple(np.empty_like(array) for array in rows)
        for place in range(size):
            now = tuple(np.full(sizes, init) for init in self.inits)
            for n in range(place, size) if self.backwards else range(place + 1):
                now = self.lanes(*now, *(array[..., n] for array in rows))
            for result, value in zip(results, now, strict=True):
                result[..., place] = value
        return results

    def fold_tiles(self, rows: Rows, tile: int) -> Rows:
        """Return the fold by tiles; the results of tiles are folded by tiles recursively."""
        size, sizes = rows[0].shape[-1], rows[0].shape[:-1]
        if size <= tile:
            return self.fold_rows(rows)
        lacking, inits = -size % tile, [np.full((), init) for init in self.inits]
        filled = (
            np.concatenate([array, np.full((*sizes, lacking), init)], axis=-1)
            for array, init in zip(rows, inits, strict=True)
        )
        inner = self.fold_rows(tuple(array.reshape(*sizes, -1, tile) for array in filled))
        whole = tuple(array[..., 0 if self.backwards else -1] for array in inner)
        before = tuple(
            np.broadcast_to(self._exclusive_prefixes(array, init)[..., None], one.shape)
            for array, init, one in zip(self.fold_tiles(whole, tile), inits, inner, strict=True)
        )
        results = self.lanes(*inner, *before)
        return tuple(array.reshape(*sizes, -1)[..., :size] for array in results)

    def _exclusive_prefixes(self, folded: Array, init: Array) -> Array:
        """Return the exclusive prefix of each tile, given the inclusive prefixes."""
        first = np.full((*folded.shape[:-1], 1), init)
        rows = (folded[..., 1:], first) if self.backwards else (first, folded[..., :-1])
        return np.concatenate(rows, axis=-1)


def tiled_results(parts: Reduction) -> Iterator[Rows]:
    """Yield the results of a running fold for each tile size, if windows are a running fold."""
    leaves = parts.leaves
    if not isinstance(leaves, Windows) or (axis := _running_axis(leaves)) is None:
        return
    inits = tuple(init.reshape(()) for init in parts.inits)
    fold = _Fold(parts.body.lanes, inits, backwards=leaves.padding[axis][0] == 0)
    rows = tuple(np.moveaxis(array, axis, -1) for array in parts.values)
    for tile in (tile for tile in SIZES if tile < leaves.given[axis]):
        yield tuple(np.moveaxis(array, -1, axis) for array in fold.fold_tiles(rows, tile))


def _running_axis(leaves: Windows) -> int | None:
    """Return the axis along which windows are prefixes or suffixes, or None."""
    along = [axis for axis, size in enumerate(leaves.window_dimensions) if size > 1]
    if len(along) != 1 or leaves.given != leaves.shape:
        return None
    (axis,) = along
    size, padding = leaves.given[axis], leaves.padding[axis]
    others = (pair for d, pair in enumerate(leaves.padding) if d != axis)
    covers = leaves.window_dimensions[axis] == size and sorted(padding) == [0, size - 1]
    fold_rows = leaves.base_dilations[axis] == leaves.window_dilations[axis] == 1
    return axis if covers and fold_rows and not any(map(any, others)) else None

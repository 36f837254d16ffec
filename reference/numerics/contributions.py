"""The elements that contribute to each result of a reduction: the leaves of its tree.

A reduction folds, for each element of its results, some elements of its inputs in a fixed order: a
slice (`reduce`), the elements under a window (`reduce_window`), or the elements scattered to one
position (`select_and_scatter`). The three classes here enumerate them, so that folding, masks of
unspecified results and error bounds need one implementation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from reference.ir.types import Array

Group = tuple[Array, tuple[Array, ...]]
"""Flat indices of some results, and for each input their leaves, [number of leaves, results]."""


class Leaves(Protocol):
    """The leaves of every result, in order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the results."""
        ...

    @property
    def counts(self) -> Array:
        """The number of leaves of each result, without init values; has the results' shape."""
        ...

    def fold(self, ufunc: np.ufunc, values: Array, padding: Any, neutral: Any) -> Array:
        """Fold the leaves of each result by a ufunc that is associative and commutative.

        `values` replaces the input's elements, `padding` replaces the elements that the op adds
        around and between elements; a result without leaves is `neutral`.
        """
        ...

    def groups(self, inputs: Sequence[Array], paddings: Sequence[Array]) -> Iterator[Group]:
        """Yield groups of results with equally many leaves, with their leaves in order."""
        ...


@dataclass(frozen=True, slots=True)
class Slices:
    """Leaves of `reduce`: slices along `dimensions`, in lexicographic order of their indices."""

    given: tuple[int, ...]
    dimensions: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions that remain."""
        return tuple(n for d, n in enumerate(self.given) if d not in self.dimensions)

    @property
    def counts(self) -> Array:
        """The size of a slice, the same for all."""
        return np.full(self.shape, prod(self.given[d] for d in self.dimensions))

    def fold(
        self,
        ufunc: np.ufunc,
        values: Array,
        padding: Any,  # noqa: ARG002 - there is none
        neutral: Any,
    ) -> Array:
        """Fold the leaves, see `Leaves`; there is no padding."""
        if not values.size:
            return np.full(self.shape, neutral, values.dtype)
        # start at the first leaf: numpy's own start, 0 or 1 + 0i, changes the signs of zeros
        return np.asarray(ufunc.reduce(values, axis=self.dimensions, initial=None))

    def groups(
        self,
        inputs: Sequence[Array],
        paddings: Sequence[Array],  # noqa: ARG002 - there is none
    ) -> Iterator[Group]:
        """Yield one group, see `Leaves`; all results have equally many leaves."""
        inside = tuple(sorted(self.dimensions))
        order = (*inside, *(d for d in range(len(self.given)) if d not in inside))
        count, lanes = prod(self.given[d] for d in inside), prod(self.shape)
        rows = tuple(x.transpose(order).reshape(count, lanes) for x in inputs)
        yield np.arange(lanes), rows


@dataclass(frozen=True, slots=True)
class Windows:
    """Leaves of `reduce_window`: the elements of the dilated and padded input under a window."""

    given: tuple[int, ...]
    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    window_dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of windows along each dimension (C15)."""
        return tuple(
            count_windows(*of)
            for of in zip(
                self.given, self.window_dimensions, self.window_strides, self.base_dilations,
                self.window_dilations, self.padding, strict=True,
            )
        )  # fmt: skip

    @property
    def counts(self) -> Array:
        """The size of a window, the same for all."""
        return np.full(self.shape, prod(self.window_dimensions))

    def pad(self, values: Array, padding: Any) -> Array:
        """Return the array dilated and padded, as `pad` of the specification; amounts may be
        negative."""
        if all(d == 1 for d in self.base_dilations) and not any(map(any, self.padding)):
            return values
        sizes = zip(self.given, self.base_dilations, self.padding, strict=True)
        whole = np.full([(n - 1) * d + 1 if n else 0 for n, d, _ in sizes], padding, values.dtype)
        whole[tuple(slice(None, None, d) for d in self.base_dilations)] = values
        cut = tuple(slice(max(0, -low), n - max(0, -high)) for n, (low, high) in _axis_pairs(
            whole.shape, self.padding
        ))  # fmt: skip
        around = [(max(0, low), max(0, high)) for low, high in self.padding]
        return np.pad(whole[cut], around, constant_values=padding)

    def fold(
        self,
        ufunc: np.ufunc,
        values: Array,
        padding: Any,
        neutral: Any,  # noqa: ARG002 - no window is empty
    ) -> Array:
        """Fold the leaves, see `Leaves`; one dimension after the other, as the order does not
        matter."""
        if not prod(self.shape):
            return np.empty(self.shape, values.dtype)
        whole = self.pad(values, padding)
        for axis, count in enumerate(self.shape):
            size, dilation = self.window_dimensions[axis], self.window_dilations[axis]
            stride = self.window_strides[axis]
            if (size, stride) != (1, 1) or whole.shape[axis] != count:
                whole = _fold_axis(ufunc, whole, axis, count, stride, size, dilation)
        return whole

    def groups(self, inputs: Sequence[Array], paddings: Sequence[Array]) -> Iterator[Group]:
        """Yield one group, see `Leaves`; all results have equally many leaves."""
        shape, size = self.shape, prod(self.window_dimensions)
        lanes = prod(shape)
        if not lanes:
            return
        yield (
            np.arange(lanes),
            tuple(
                self._windows(_view_as_bits(self.pad(x, init)), shape)
                .reshape(size, lanes)
                .view(x.dtype)
                for x, init in zip(inputs, paddings, strict=True)
            ),
        )

    def _windows(self, whole: Array, shape: tuple[int, ...]) -> Array:
        """Return the windows of an array: positions within the window first, then the windows."""
        spans = window_spans(self.window_dimensions, self.window_dilations)
        rank = len(shape)
        if not rank:
            return whole
        view = sliding_window_view(whole, spans)
        starts = (slice(None, n * s, s) for n, s in zip(shape, self.window_strides, strict=True))
        inside = (slice(None, None, d) for d in self.window_dilations)
        view = view[(*starts, *inside)]
        return view.transpose(*range(rank, 2 * rank), *range(rank))


@dataclass(frozen=True, slots=True)
class Segments:
    """Leaves of a scatter: `target[i]` is the flat index of the result that receives element i.

    Elements with a negative target are dropped. The leaves of a result are in the order of i.
    """

    shape: tuple[int, ...]
    target: Array

    @property
    def counts(self) -> Array:
        """The number of elements for each result."""
        kept = self.target[self.target >= 0]
        return np.bincount(kept, minlength=prod(self.shape)).reshape(self.shape)

    def _sort_by_target(self) -> tuple[Array, Array, Array]:
        """Return elements sorted by target, then i; the start of each run; the targets."""
        order = np.argsort(self.target, kind="stable")
        order = order[np.count_nonzero(self.target < 0) :]
        targets, starts = np.unique(self.target[order], return_index=True)
        return order, starts, targets

    def fold(
        self,
        ufunc: np.ufunc,
        values: Array,
        padding: Any,  # noqa: ARG002 - there is none
        neutral: Any,
    ) -> Array:
        """Fold the leaves, see `Leaves`; there is no padding."""
        result = np.full(prod(self.shape), neutral, values.dtype)
        order, starts, targets = self._sort_by_target()
        if order.size:
            result[targets] = ufunc.reduceat(values.reshape(-1)[order], starts)
        return result.reshape(self.shape)

    def groups(
        self,
        inputs: Sequence[Array],
        paddings: Sequence[Array],  # noqa: ARG002 - there is none
    ) -> Iterator[Group]:
        """Yield the groups, see `Leaves`; includes results without leaves."""
        order, starts, targets = self._sort_by_target()
        counts = np.diff(np.append(starts, order.size))
        flat = [x.reshape(-1)[order] for x in inputs]
        untouched = np.setdiff1d(np.arange(prod(self.shape)), targets)
        if untouched.size:
            yield untouched, tuple(np.empty((0, untouched.size), x.dtype) for x in inputs)
        for count in np.unique(counts).tolist():
            chosen = counts == count
            at = starts[chosen][None, :] + np.arange(count)[:, None]
            yield targets[chosen], tuple(x[at] for x in flat)


def _view_as_bits(array: Array) -> Array:
    """Return an array as plain bits if numpy cannot make window views of its type."""
    return (
        array
        if array.dtype.isbuiltin == 1
        else np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    )


def _axis_pairs(
    sizes: Sequence[int], padding: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, tuple[int, int]]]:
    return zip(sizes, padding, strict=True)


def window_spans(dimensions: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    """Return the extent of a dilated window along each dimension."""
    return tuple((n - 1) * d + 1 for n, d in zip(dimensions, dilations, strict=True))


def count_windows(
    size: int,
    window: int,
    stride: int,
    base_dilation: int,
    window_dilation: int,
    padding: tuple[int, int],
) -> int:
    """Return the number of windows along a dimension: C15 of reduce_window, C2 of
    select_and_scatter."""
    dilated = (size - 1) * base_dilation + 1 if size else 0
    padded = padding[0] + dilated + padding[1]
    span = (window - 1) * window_dilation + 1
    return 0 if padded == 0 or span > padded else (padded - span) // stride + 1


def _fold_axis(
    ufunc: np.ufunc, array: Array, axis: int, count: int, stride: int, size: int, dilation: int
) -> Array:
    """Fold windows of `size` elements, `dilation` apart, along one axis, with the given stride.

    Fold slice by slice, or by doubling: windows of 2k elements from two windows of k.
    """
    moved = np.moveaxis(array, axis, 0)

    def slice_from(start: int) -> Array:
        return moved[start : start + (count - 1) * stride + 1 : stride]

    doublings = 2 * size.bit_length() * moved.shape[0]
    if size * count <= doublings or size <= 2:
        folded = slice_from(0).copy()
        for number in range(1, size):
            ufunc(folded, slice_from(number * dilation), out=folded)
        return np.moveaxis(folded, 0, axis)
    power, span, at = moved, 1, 0
    folded = None
    while span <= size:
        if size & span:
            part = power[at : at + (count - 1) * stride + 1 : stride]
            folded = part if folded is None else ufunc(folded, part)
            at += span * dilation
        if 2 * span <= size:
            shift = span * dilation
            power = ufunc(power[: power.shape[0] - shift], power[shift:])
        span *= 2
    assert folded is not None
    return np.moveaxis(folded, 0, axis)

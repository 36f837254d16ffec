"""Sums of elements, or of products, in the orders and with the roundings of compiled loops.

Compilers add elements in memory order, in vectors or in windows, and may not round a product that
they add to another sum. Source: optimised HLO and LLVM modules of jaxlib 0.10.2 and 0.12.0 on CPUs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from conformance.known.xla.normalization_steps import Machine, features_last
from reference.ir.types import Array
from reference.numerics.rounding import round_to, to_float64

_WINDOW = 32
"""Largest size of a dimension that XLA adds in one loop; it adds windows of larger ones first."""

_VECTORS = (2, 4, 8, 16)
"""Numbers of elements of the vectors that loops add."""


def paired_sums(
    machine: Machine,
    first: tuple[Array, ...],
    second: tuple[Array, ...],
    axes: tuple[int, ...],
) -> Iterator[tuple[Array, Array]]:
    """Yield distinct pairs of the usual sums of two products, both added in one way."""
    pairs = (usual_sums(machine, *factors, axes=axes) for factors in (first, second))
    yield from _distinct_pairs(zip(*pairs, strict=True), set())


def mixed_sums(
    machine: Machine,
    first: tuple[Array, ...],
    second: tuple[Array, ...],
    axes: tuple[int, ...],
) -> Iterator[tuple[Array, Array, bool]]:
    """Yield distinct pairs of the sums of two products, and whether they are usual.

    Usual ones are added in one way, and not in vectors or windows. They come first. Loops of their
    own may add the two products in different ways.
    """
    seen: set[tuple[bytes, bytes]] = set()
    both = first, second
    usual = [list(usual_sums(machine, *one, axes=axes)) for one in both]
    yield from ((*pair, True) for pair in _distinct_pairs(zip(*usual, strict=True), seen))
    in_loops = [list(sums_in_loops(machine, *one, axes=axes)) for one in both]
    lefts, rights = map(operator.add, usual, in_loops)
    every = _distinct_pairs(product(lefts, rights), seen)
    yield from ((*pair, False) for pair in every)


def _distinct_pairs(
    pairs: Iterable[tuple[Array, Array]], seen: set[tuple[bytes, bytes]]
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs whose bits were not seen, and have them seen."""
    for left, right in pairs:
        bits = left.tobytes(), right.tobytes()
        if bits not in seen:
            seen.add(bits)
            yield left, right


def usual_sums(machine: Machine, *factors: Array, axes: tuple[int, ...]) -> Iterator[Array]:
    """Yield sums of products: fused in order, rounded in order, and rounded once if products are.

    A sum in vectors may overflow where a sum in order does not, towards both sides at most: it is
    NaN then. A sum of one element is also the element: compilers remove such a sum, and -0 stays
    -0.
    """
    terms = _Terms.of(machine, factors, axes)
    products = terms.products
    ordered = terms.add_in_order(fuses=False)
    by_signs = _Terms(machine, np.maximum(products, 0)).add_in_order(fuses=False) + _Terms(
        machine, np.minimum(products, 0)
    ).add_in_order(fuses=False)
    wide = to_float64(products).astype(np.longdouble).sum(axis=0)
    found = (
        terms.add_in_order(fuses=True) if terms.fused else ordered,
        ordered,
        machine.round_step(round_to(wide, machine.of)),
        np.where(np.isfinite(by_signs), ordered, by_signs),
        *(products[:1] if len(products) == 1 else ()),
    )
    for total in found:
        yield np.expand_dims(machine.store_step("sums", total), axes)


def sums_in_loops(machine: Machine, *factors: Array, axes: tuple[int, ...]) -> Iterator[Array]:
    """Yield sums of products as XLA's loops on CPUs add them.

    A loop of two products or more rounds the second one, and fuses the first. A loop over a
    dimension may add vectors of its rows, and a dimension above `_WINDOW` is added by windows.
    """
    terms = _Terms.of(machine, factors, axes)
    if len(terms.products) > 1:
        for total in _add_in_loops(terms, tuple(factors[0].shape[axis] for axis in axes)):
            yield np.expand_dims(machine.store_step("sums", total), axes)


def _add_in_loops(terms: _Terms, sizes: tuple[int, ...]) -> Iterator[Array]:
    """Yield sums of terms of dimensions of these sizes."""
    yield terms.add_from_second()
    if max(sizes) > _WINDOW:
        yield terms.add_windows(sizes)
    for axis in range(len(sizes) - 1):
        rows, size = sizes[axis], prod(sizes[axis + 1 :])
        if size == 1:
            continue
        for lanes, leaves_vector in product(_VECTORS, (False, True)):
            if leaves_vector and rows % lanes:
                continue
            if (vectors := rows // lanes - leaves_vector) > 0:
                rounded = terms.add_vectors((rows, size), lanes, vectors, fuses=False)
                yield rounded
                yield (
                    terms.add_vectors((rows, size), lanes, vectors, fuses=True)
                    if terms.fused
                    else rounded
                )


@dataclass(frozen=True, slots=True)
class _Terms:
    """Terms of a sum on a machine, the first dimension being added in memory order.

    Attributes:
        products: the terms, each rounded.
        fused: the two factors of each term, if a term may be added unrounded.
    """

    machine: Machine
    products: Array
    fused: tuple[Array, ...] | None = None

    @classmethod
    def of(cls, machine: Machine, factors: tuple[Array, ...], axes: tuple[int, ...]) -> _Terms:
        """Return the terms of a sum of products of factors over dimensions."""
        rows = tuple(features_last(one, axes) for one in factors)
        if len(rows) == 1:
            return cls(machine, rows[0])
        products = machine.store_step("products", machine.round_step(rows[0] * rows[1]))
        return cls(machine, products, None if "products" in machine.rounded else rows)

    def add_term(self, total: Array, index: object, *, fuses: bool) -> Array:
        """Return a total and the term of an index, which is rounded unless it is fused."""
        if fuses and self.fused:
            x, y = (one[index] for one in self.fused)  # type: ignore[index]
            return self.machine.fuse(x, y, total)
        return self.machine.round_step(total + self.products[index])  # type: ignore[index]

    def add_in_order(self, *, fuses: bool) -> Array:
        """Return the sum in memory order, from zero."""
        total = np.zeros(self.products.shape[1:], self.products.dtype)
        for index in range(len(self.products)):
            total = self.add_term(total, index, fuses=fuses)
        return total

    def add_from_second(self) -> Array:
        """Return the fused sum that begins with the second term, rounded, and adds the first."""
        total = self.products[1]
        for index in (0, *range(2, len(self.products))):
            total = self.add_term(total, index, fuses=True)
        return total

    def add_windows(self, sizes: tuple[int, ...]) -> Array:
        """Return the sum of the rounded sums of windows of `_WINDOW` in dimensions of these sizes.

        Windows are padded to whole ones, by half of the padding on either side.
        """
        grid = self.products.reshape(*sizes, *self.products.shape[1:])
        rest = self.products.shape[1:]
        parts = [
            _Terms(self.machine, grid[window].reshape(-1, *rest)).add_in_order(fuses=False)
            for window in product(*map(_windows, sizes))
        ]
        return _Terms(self.machine, np.stack(parts)).add_in_order(fuses=False)

    def add_vectors(
        self, block: tuple[int, int], lanes: int, vectors: int, *, fuses: bool
    ) -> Array:
        """Return the sum of blocks of `rows` times `size` terms, by vectors of the rows' terms.

        In each block, the elements of a vector are terms of as many rows, for the first rows. The
        first one begins with the sum of the blocks before. The sum of a vector is the sum of its
        halves. Rows after the last vector are added in order.
        """
        rows, size = block
        rest = self.products.shape[1:]
        total = np.zeros(rest, self.products.dtype)
        for start in range(0, len(self.products), rows * size):
            vector = np.concatenate([total[None], np.zeros((lanes - 1, *rest), total.dtype)])
            for first, column in product(range(0, vectors * lanes, lanes), range(size)):
                index = start + (first + np.arange(lanes)) * size + column
                vector = self.add_term(vector, index, fuses=fuses)
            while len(vector) > 1:
                half = len(vector) // 2
                vector = self.machine.round_step(vector[:half] + vector[half:])
            total = vector[0]
            for index in range(start + vectors * lanes * size, start + rows * size):
                total = self.add_term(total, index, fuses=fuses)
        return total


def _windows(size: int) -> list[slice]:
    """Return the windows of a dimension."""
    count = -(-size // _WINDOW)
    if count == 1:
        return [slice(0, size)]
    before = (count * _WINDOW - size) // 2
    starts = [i * _WINDOW - before for i in range(count)]
    return [slice(max(0, start), min(size, start + _WINDOW)) for start in starts]

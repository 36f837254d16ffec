"""Steps of batch normalization in the arithmetics of backends, each rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.numerics.rounding import next_down, next_up, round_to, to_float64
from reference.numerics.unrounded import fused_multiply_add

_ULPS = 2
"""Error of an approximate 1 / sqrt(x), in ulp."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The arithmetic of all steps: a type, and whether subnormals are flushed to zero.

    Constants `are_rounded` to the operands' type `narrow` first. So are the results of the
    `rounded` steps. It `divides` by the count, or multiplies by its reciprocal.
    """

    of: ElementType
    flushes: bool
    narrow: ElementType
    are_rounded: bool = True
    rounded: tuple[str, ...] = ()
    divides: bool = False

    def store_step(self, step: str, numbers: Array) -> Array:
        """Return the result of a step, in the operands' type if that step is rounded."""
        return self.round_to_narrow(numbers) if step in self.rounded else numbers

    def round_to_narrow(self, numbers: Array) -> Array:
        """Return numbers rounded to the operands' type."""
        return self.widen(round_to(to_float64(numbers), self.narrow))

    def round_step(self, numbers: Array) -> Array:
        """Return results of a step, rounded to the stored type."""
        numbers = np.asarray(numbers)
        return flush_subnormals(numbers) if self.flushes else numbers

    def widen(self, numbers: Array) -> Array:
        """Return numbers of any type in the machine's type."""
        if element_type_of(numbers) == self.of:
            return self.round_step(numbers)
        return self.round_step(round_to(to_float64(numbers), self.of))

    def fuse(self, x: Array, y: Array, addend: Array) -> Array:
        """Return x * y + addend, rounded once."""
        return self.round_step(fused_multiply_add(x, y, addend, self.of))

    def multiply_add(self, x: Array, y: Array, addend: Array) -> Iterator[Array]:
        """Yield x * y + addend with the product first unrounded, then rounded."""
        yield from distinct_arrays(
            self.fuse(x, y, addend), self.round_step(self.round_step(x * y) + addend)
        )

    def center(self, x: Array, total: Array, inverse: Array, mean: Array) -> list[Array]:
        """Return x - mean, then x - total / count rounded once if the mean is not rounded."""
        center = self.round_step(x - self.store_step("mean", mean))
        if self.divides or "mean" in self.rounded:
            return [center]
        return [*distinct_arrays(center, self.fuse(-total, inverse, x))]

    def reciprocal_roots(self, numbers: Array) -> Iterator[Array]:
        """Yield 1 / sqrt(x), correctly rounded, then its neighbours."""
        exact = 1 / np.sqrt(to_float64(numbers).astype(np.longdouble))
        nearest = round_to(exact, self.of)
        yield self.round_step(nearest)
        larger = smaller = nearest
        inexact = np.isfinite(exact) & (exact != 0)
        for _ in range(_ULPS):
            larger = np.where(inexact, next_up(larger), larger)
            smaller = np.where(inexact, next_down(smaller), smaller)
            yield self.round_step(larger)
            yield self.round_step(smaller)

    def sums(self, *factors: Array, axes: tuple[int, ...]) -> Iterator[Array]:
        """Yield sums of products of the factors over dimensions: fused in order, rounded in order,
        and correctly rounded sums of rounded products. A sum of one element is also the element:
        compilers remove such a sum, and -0 stays -0. A sum in vectors may overflow where a sum in
        order does not, towards both sides at most: it is NaN then. A sum of several rows may be the
        sum of the rows' fused sums; then sums of a single factor are in order, or of rows, too.
        """
        rows = [_rows(one, axes) for one in factors]
        products = (
            rows[0]
            if len(rows) == 1
            else self.store_step("products", self.round_step(rows[0] * rows[1]))
        )
        total = ordered = self._add_in_order(products)
        is_fused = len(rows) > 1 and "products" not in self.rounded
        if is_fused:
            total = self._fuse_in_order(*rows)
        by_signs = self._add_in_order(np.maximum(products, 0)) + self._add_in_order(
            np.minimum(products, 0)
        )
        wide = to_float64(products).astype(np.longdouble).sum(axis=0)
        vectors = np.where(np.isfinite(by_signs), ordered, by_signs)
        element = [products[0]] if len(products) == 1 else []
        size = factors[0].shape[axes[-1]] if axes else 1
        by_rows = self._add_rows(rows if is_fused else [products], size, ordered, fuses=is_fused)
        nearest = self.round_step(round_to(wide, self.of))
        for one in (total, ordered, nearest, vectors, *element, *by_rows):
            yield np.expand_dims(self.store_step("sums", one), axes)

    def _add_rows(
        self, factors: list[Array], size: int, ordered: Array, *, fuses: bool
    ) -> list[Array]:
        """Return the sum in order and the sum of the sums of rows of a size, which may be fused.

        Fused, the latter is returned twice. Return nothing if a row has all elements or one.
        """
        count = len(factors[0])
        if not 1 < size < count:
            return []
        parts = ([one[i : i + size] for one in factors] for i in range(0, count, size))
        sums = (self._fuse_in_order(*one) if fuses else self._add_in_order(*one) for one in parts)
        whole = self._add_in_order(np.stack(list(sums)))
        return [whole if fuses else ordered, whole]

    def _fuse_in_order(self, left: Array, right: Array) -> Array:
        """Return the sum of products of rows, each fused with the sum before it."""
        total = np.zeros(left.shape[1:], left.dtype)
        for x, y in zip(left, right, strict=True):
            total = self.fuse(x, y, total)
        return total

    def _add_in_order(self, rows: Array) -> Array:
        """Return the sum of rows, rounded after each."""
        total = np.zeros(rows.shape[1:], rows.dtype)
        for row in rows:
            total = self.round_step(total + row)
        return total


def distinct_arrays(*arrays: Array) -> Iterator[Array]:
    """Yield arrays of equal shape and type, omitting those whose bits repeat an earlier array."""
    yield from {one.tobytes(): one for one in arrays}.values()


def _rows(array: Array, axes: tuple[int, ...]) -> Array:
    """Return the summed elements in order as the first dimension."""
    others = [axis for axis in range(array.ndim) if axis not in axes]
    moved = array.transpose(*axes, *others)
    return moved.reshape(-1, *(array.shape[axis] for axis in others))


@dataclass(frozen=True, slots=True)
class NormalizationOperands:
    """Operands on a machine, shaped to broadcast, and constants of its type."""

    machine: Machine
    operands: list[Array]
    epsilon: Array
    count: Array
    axes: tuple[int, ...]

    def spreads(self, variance: Array) -> Iterator[Array]:
        """Yield variance + epsilon, and also variance if epsilon is 0, because -0 + 0 is +0."""
        spread = self.machine.store_step("spread", self.machine.round_step(variance + self.epsilon))
        yield from distinct_arrays(spread, variance if self.epsilon == 0 else spread)

    def roots(self, variance: Array) -> Iterator[Array]:
        """Yield 1 / sqrt(variance + epsilon)."""
        for spread in self.spreads(variance):
            for root in self.machine.reciprocal_roots(spread):
                yield self.machine.store_step("root", root)

    @property
    def inverse(self) -> Array:
        """1 / count."""
        return self.machine.store_step(
            "inverse", self.machine.round_step(np.ones_like(self.count) / self.count)
        )

    def means(self, total: Array) -> Array:
        """Return the means of the elements, given their total."""
        if self.machine.divides:
            return self.machine.round_step(total / self.count)
        return self.machine.round_step(total * self.inverse)

    @property
    def equal_number(self) -> Array | None:
        """The operand's first element of each feature if all elements of a feature equal it."""
        rows = _rows(self.operands[0], self.axes)
        if not rows.size or not equal_elements(np.broadcast_to(rows[:1], rows.shape), rows).all():
            return None
        return np.expand_dims(rows[0], self.axes)

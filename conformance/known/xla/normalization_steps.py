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


def distinct_arrays(*arrays: Array) -> Iterator[Array]:
    """Yield arrays of equal shape and type, omitting those whose bits repeat an earlier array."""
    yield from {one.tobytes(): one for one in arrays}.values()


def store_result(numbers: Array, like: Array) -> Array:
    """Return numbers in the type and the shape of a result."""
    of = element_type_of(like)
    same = element_type_of(numbers) == of
    return (numbers if same else round_to(to_float64(numbers), of)).reshape(like.shape)


def features_last(array: Array, axes: tuple[int, ...]) -> Array:
    """Return the summed elements in memory order as the first dimension, before the features."""
    others = [axis for axis in range(array.ndim) if axis not in axes]
    moved = array.transpose(*axes, *others)
    return moved.reshape(-1, *(array.shape[axis] for axis in others))


@dataclass(frozen=True, slots=True)
class NormalizationOperands:
    """Operands on a machine, shaped to broadcast, and constants of its type.

    The backend's `results` decide which of many sums are worth a prediction.
    """

    machine: Machine
    operands: list[Array]
    epsilon: Array
    count: Array
    axes: tuple[int, ...]
    results: tuple[Array, ...] = ()

    def equals_result(self, index: int, *arrays: Array) -> Array:
        """Return a mask of the features for which a result is that of any of the arrays."""
        result = self.results[index]
        masks = [equal_elements(store_result(one, result), result) for one in arrays]
        return np.logical_or.reduce(masks)

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
        rows = features_last(self.operands[0], self.axes)
        if not rows.size or not equal_elements(np.broadcast_to(rows[:1], rows.shape), rows).all():
            return None
        return np.expand_dims(rows[0], self.axes)

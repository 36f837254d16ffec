"""Numbers that a formula has computed so far, step by step, each with its possible error.

A `Number` is the result of a step, and a bound on its distance from the result of any other correct
execution of the same steps. Errors of operands are propagated here. What a step adds is a matter of
its `Arithmetic`: machines that compute with the parts of complex numbers, blocks of matrices,
pairs of f32. So an element within the bound is as accurate as the formula permits; cancellation
costs the digits that the sizes of the terms imply.

This differs from an `Interval` (conformance/tolerance/bounds/intervals.py), which holds all results
that a rule permits, and predicts none of them. Where a backend's steps are known to the bit, as in
normalization.py, its results are a finite set, without errors.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", sections 2.4 and 3.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.tolerance import table
from reference.ir.types import Array

_FUNCTIONS = (
    table.EXPONENTIAL, table.EXPM1, table.LOG, table.LOG1P, table.TRIGONOMETRIC, table.TANGENT,
    table.ATAN2,
)  # fmt: skip
FUNCTION = max(max(rule.ulps.f32, rule.ulps.f64) for rule in _FUNCTIONS if rule.ulps)
"""Error of an elementary function in units of the roundoff: the largest budget of the functions in
formulas.
"""
POWER = 16
"""Error of a real power in units of the roundoff: OpenCL's figure."""
_PRODUCT, _QUOTIENT = 2, 5
"""Indices n in the bounds sqrt(2) gamma_n of complex products and quotients (Higham, lemma 3.5)."""


class Arithmetic(ABC):
    """The rounding of steps. Errors of steps are in units of its roundoff."""

    __slots__ = ()

    contracted: bool = False
    """Whether the first of two products is added unrounded, as by a fused multiply-add."""
    logarithm: float = FUNCTION
    """Error of a logarithm."""

    @abstractmethod
    def exactly(self, numbers: Array) -> Number:
        """Return numbers that are given to the formula, and have no error."""

    @abstractmethod
    def step(
        self, exact: Array, error: Array, lost: Array, *, units: float | None = None
    ) -> Number:
        """Return the number after a step.

        Args:
            exact: the result of the step on the values of its operands.
            error: the error that the operands' errors cause.
            lost: the elements that may be NaN or infinite because operands may.
            units: the error of the step itself; None for one rounding.
        """

    def product_error(self, x: Array, y: Array) -> Array | float:
        """Return additional errors of products, on top of their rounding."""
        del x, y
        return 0.0

    def loses(self, size: Array) -> Array:
        """Return a mask of the magnitudes that may be NaN or infinite, whatever their error."""
        return np.zeros(size.shape, np.bool_)

    def accumulated_error(self, count: int) -> tuple[float, float]:
        """Return the error of a sum of `count` products, in any order.

        The first part is relative to the sum of their magnitudes, the second is absolute.
        """
        raise NotImplementedError


class Number:
    """The result of a step, and the largest distance of other permitted results.

    An error is infinite where any result is possible. Elements that are `lost` may also be NaN or
    infinite.
    """

    __slots__ = ("arithmetic", "error", "lost", "value")

    def __init__(
        self, value: Array, error: Array, arithmetic: Arithmetic, lost: Array | None = None
    ) -> None:
        """Store values and errors in the arithmetic's type. By default no element is `lost`."""
        self.value, self.error, self.arithmetic = value, error, arithmetic
        self.lost = np.zeros(value.shape, np.bool_) if lost is None else lost

    def __getitem__(self, chosen: Any) -> Number:
        """Return the numbers at these indices."""
        return self.move(lambda array: array[chosen])

    def __setitem__(self, chosen: Any, other: Number) -> None:
        """Replace the numbers at these indices."""
        for into, given in zip(self._arrays, other._arrays, strict=True):
            into[chosen] = given

    def move(self, function: Callable[[Array], Array]) -> Number:
        """Return the numbers moved by a function of arrays."""
        value, error, lost = map(function, self._arrays)
        return Number(value, error, self.arithmetic, lost)

    @property
    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.value, self.error, self.lost

    @property
    def transposed(self) -> Number:
        """The numbers as transposed matrices."""
        return self.move(lambda array: np.swapaxes(array, -1, -2))

    @property
    def conjugate(self) -> Number:
        """The complex conjugates."""
        return Number(np.conj(self.value), self.error, self.arithmetic, self.lost)

    def __add__(self, other: Number | float) -> Number:
        """Return the sum, rounded."""
        y = self._to_number(other)
        return self._step(self.value + y.value, self.error + y.error, y)

    def __sub__(self, other: Number | float) -> Number:
        """Return the difference, rounded."""
        y = self._to_number(other)
        return self._step(self.value - y.value, self.error + y.error, y)

    def __mul__(self, other: Number | float) -> Number:
        """Return the product, rounded unless it is fused into a sum."""
        y = self._to_number(other)
        exact = self.value * y.value
        return self._step(exact, self._product_error(y), y, units=_complex_units(exact, _PRODUCT))

    def _product_error(self, y: Number) -> Array:
        """Return the error of a product besides its rounding."""
        left, right = np.abs(self.value), np.abs(y.value)
        error = _times(left, y.error) + _times(right + y.error, self.error)
        return error + self.arithmetic.product_error(self.value, y.value)

    def times_and(self, other: Number, addend: Number) -> Number:
        """Return the product plus a number, rounded once if the arithmetic is contracted."""
        if not self.arithmetic.contracted:
            return self * other + addend
        exact = self.value * other.value + addend.value
        return self._step(exact, self._product_error(other) + addend.error, other, addend)

    def __matmul__(self, other: Number) -> Number:
        """Return matrix products, added in any order."""
        exact, count = self.value @ other.value, self.value.shape[-1]
        units = _complex_units(exact, 1)
        relative, absolute = self.arithmetic.accumulated_error(count + _PRODUCT * bool(units))
        relative *= units or 1
        left, right = (np.abs(one.value).astype(np.float64) for one in (self, other))
        error = (self.error + relative * left) @ right + (left + self.error) @ other.error
        lost = np.logical_or(
            self.lost.any(axis=-1, keepdims=True), other.lost.any(axis=-2, keepdims=True)
        )
        return self.arithmetic.step(exact, error + absolute, lost, units=0.0)

    def sum(self, axes: tuple[int, ...]) -> Number:
        """Return the sum over dimensions, which are kept with the size 1."""

        def over_axes(array: Array) -> Array:
            return np.asarray(array.sum(axis=axes, keepdims=True))

        size = over_axes(np.abs(self.value))
        relative, absolute = self.arithmetic.accumulated_error(self.value.size // max(size.size, 1))
        error = over_axes(self.error) + relative * size + absolute
        lost = self.lost.any(axis=axes, keepdims=True) | self.arithmetic.loses(size)
        return self.arithmetic.step(over_axes(self.value), error, lost)

    def __truediv__(self, other: Number | float) -> Number:
        """Return the quotient, rounded; any result if the divisor may be zero."""
        y = self._to_number(other)
        value, least = self.value / y.value, np.abs(y.value) - y.error
        error = (self.error + _times(np.abs(value), y.error)) / least
        error = np.where((least <= 0) & (y.error > 0), np.inf, error)
        endless = np.isinf(y.value) & np.isfinite(y.error + self.error)
        error = np.where(endless, 0, error)  # 0, however inexact the other is
        return self._step(value, error, y, units=_complex_units(value, _QUOTIENT))

    def __neg__(self) -> Number:
        """Return the negated number, which is exact."""
        return Number(-self.value, self.error, self.arithmetic, self.lost)

    def __abs__(self) -> Number:
        """Return the magnitude, which is exact."""
        return Number(np.abs(self.value), self.error, self.arithmetic, self.lost)

    def _to_number(self, other: Number | float) -> Number:
        return other if isinstance(other, Number) else self.arithmetic.exactly(np.asarray(other))

    def _step(
        self, exact: Array, error: Array, *others: Number, units: float | None = None
    ) -> Number:
        """Return the number after a step on this and other operands."""
        lost = self.lost
        for other in others:
            lost = lost | other.lost
        return self.arithmetic.step(exact, error, lost, units=units)

    def root(self, *, may_be_negative: bool = False) -> Number:
        """Return the square root, rounded; any result if the number `may_be_negative` and is."""
        value = np.sqrt(self.value)
        down = value - np.sqrt(np.maximum(self.value - self.error, 0))
        error = np.maximum(np.sqrt(self.value + self.error) - value, down)
        if may_be_negative:
            error = np.where(self.error < self.value, error, np.inf)
        return self._step(value, error)

    def exponential(self) -> Number:
        """Return the exponential."""
        value = np.exp(self.value)
        return self._step(value, _times(value, np.expm1(self.error)), units=FUNCTION)

    def exponential_minus_one(self) -> Number:
        """Return the exponential minus one, as a function of its own."""
        value, error = np.expm1(self.value), _times(np.exp(self.value), np.expm1(self.error))
        return self._step(value, error, units=FUNCTION)

    def sine(self) -> Number:
        """Return the sine of an angle in radians."""
        return self._step(np.sin(self.value), self._sine_error(), units=FUNCTION)

    def cosine(self) -> Number:
        """Return the cosine of an angle in radians."""
        return self._step(np.cos(self.value), self._sine_error(), units=FUNCTION)

    def _sine_error(self) -> Array:
        """Return the error of a sine from the error of its angle."""
        return np.where(np.isfinite(self.value), np.minimum(self.error, 2), self.error)

    def cosine_minus_one(self) -> Number:
        """Return the cosine minus one by a series, for an exact angle."""
        half = np.sin(self.value / 2)
        return self._step(-2 * half * half, self.error, units=FUNCTION)

    def logarithm(self) -> Number:
        """Return the natural logarithm."""
        error = np.where(self.error == 0, 0, _logarithm_error(self.error / self.value))
        return self._step(np.log(self.value), error, units=self.arithmetic.logarithm)

    def logarithm_plus_one(self) -> Number:
        """Return the logarithm of 1 + x, as a function of its own."""
        error = np.where(self.error == 0, 0, _logarithm_error(self.error / (1 + self.value)))
        return self._step(np.log1p(self.value), error, units=self.arithmetic.logarithm)

    def angle(self, x: Number, side: float = 0) -> Number:
        """Return the arc tangent of this over `x`.

        Next to the negative half axis, where the sign is uncertain, it has the sign of `side`,
        unless that is 0.
        """
        value = np.arctan2(self.value, x.value)
        if side:
            cut = (x.value < 0) & (self.error > 0) & (np.abs(self.value) <= self.error)
            value = np.where(cut, np.copysign(value, side), value)
        off, size = np.hypot(self.error, x.error), np.hypot(self.value, x.value)
        error = np.where(off == 0, 0, np.where(off < size, np.arcsin(off / size), np.pi))
        return self._step(value, error, x, units=FUNCTION)

    def to_power(self, exponent: Number) -> Number:
        """Return this nonnegative number to a real power."""
        value = np.power(self.value, exponent.value)
        error = _times(np.abs(exponent.value), _logarithm_error(self.error / self.value))
        error = error + _times(np.abs(np.log(self.value)), exponent.error)
        none = (self.error == 0) & (exponent.error == 0)
        error = np.where(none, 0, _times(value, np.expm1(error)))
        return self._step(value, error, exponent, units=POWER)


def select(where: Array, x: Number | float, y: Number | float) -> Number:
    """Return `x` where the mask holds, else `y`."""
    one = x if isinstance(x, Number) else y
    assert isinstance(one, Number)
    sides = (
        side if isinstance(side, Number) else one.arithmetic.exactly(np.asarray(side))
        for side in (x, y)
    )
    pairs = zip(*((side.value, side.error, side.lost) for side in sides), strict=True)
    value, error, lost = (np.where(where, *pair) for pair in pairs)
    return Number(value, error, one.arithmetic, lost)


def larger(x: Number, y: Number) -> Number:
    """Return the larger of two numbers, NaN if either is."""
    return select((x.value >= y.value) | np.isnan(x.value), x, y)


def smaller(x: Number, y: Number) -> Number:
    """Return the smaller of two numbers, NaN if either is."""
    return select((x.value <= y.value) | np.isnan(x.value), x, y)


def _times(size: Array, error: Array) -> Array:
    """Return the product of a size and an error.

    It is 0 if either is 0, and where an infinite number stays infinite.
    """
    nothing = (size == 0) | (error == 0) | np.isinf(size) & np.isfinite(error)
    return np.where(nothing, 0, size * error)


def _complex_units(exact: Array, units: float) -> float | None:
    """Return the error of a step on complex numbers; None for real numbers."""
    return np.sqrt(2) * units if np.iscomplexobj(exact) else None


def _logarithm_error(relative: Array) -> Array:
    """Return the error of the logarithm of a number; infinite for relative errors from 1 on."""
    return -np.log1p(-np.minimum(relative, 1))

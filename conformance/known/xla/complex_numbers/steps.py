"""Real numbers that a formula has computed so far, step by step, each with its possible error.

A `Number` is the result of a step, and a bound on its distance from the result of any other correct
execution of the same steps. Every operation rounds (Higham, "Accuracy and Stability of Numerical
Algorithms", 2.4, the standard model), or does not if it is fused with the next, and functions have
errors of some units. So an element within the bound is as accurate as the formula permits;
cancellation costs the digits that the sizes of the terms imply.

A machine that is not `ranged` computes without a limit to exponents, and exactly. Otherwise numbers
are rounded to the type, and overflow and underflow as its numbers do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from conformance.tolerance import table
from reference.ir.types import Array, ElementType
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.rounding import overflow

_FUNCTIONS = (
    table.EXPONENTIAL, table.EXPM1, table.LOG, table.LOG1P, table.TRIGONOMETRIC, table.TANGENT,
    table.ATAN2,
)  # fmt: skip
FUNCTION = max(max(rule.ulps.f32, rule.ulps.f64) for rule in _FUNCTIONS if rule.ulps)
"""Error of an elementary function in units of the roundoff: the largest budget of the functions in
formulas.
"""
POWER = 16
"""Error of a real power: OpenCL's figure."""
_DOUBLE, _LOST = 64, 2.0**-63
"""Bits of the type whose products long doubles do not represent, and their largest error."""


class Tiny(Enum):
    """Treatment of subnormal numbers."""

    KEPT = auto()
    ZERO = auto()
    NEGATIVE_ZERO = auto()


@dataclass(frozen=True, slots=True)
class Machine:
    """Arithmetic of the steps: type, range limits and flushing.

    `logarithm` is the error of a logarithm, in units of the roundoff. A `contracted` machine adds
    the first of two products unrounded, as a fused multiply-add does. Flushing is then predicted
    exactly, and is no error.
    """

    of: ElementType
    ranged: bool = True
    tiny: Tiny = Tiny.KEPT
    logarithm: float = FUNCTION
    contracted: bool = False

    @property
    def unit(self) -> float:
        """The error of a step relative to its result: two executions differ by twice of it."""
        return unit_roundoff(self.of) * (2 if self.ranged else 1)

    @property
    def least(self) -> float:
        """The error of a step whose result underflows."""
        if not self.ranged:
            return 0.0
        form = self.of.float_format
        return form.smallest if self.tiny is Tiny.KEPT else self.smallest_normal

    @property
    def smallest_normal(self) -> float:
        """The smallest number that is not subnormal."""
        return self.of.float_format.smallest_normal

    def has(self, exact: Array) -> Array:
        """Return a mask of the step results that the type represents, where that is decidable."""
        return exact.astype(self.of.storage).astype(np.longdouble) == exact

    def round_step(self, exact: Array) -> Array:
        """Return the result of a step, rounded to the type."""
        if not self.ranged:
            return exact
        with np.errstate(all="ignore"):
            found = exact.astype(self.of.storage).astype(np.longdouble)
        found = np.where(np.abs(exact) >= overflow(self.of), np.copysign(np.inf, exact), found)
        if self.tiny is Tiny.KEPT:
            return found
        lost = (np.abs(found) < self.smallest_normal) & (found != 0)
        sign = found if self.tiny is Tiny.ZERO else np.full_like(found, -1)
        return np.where(lost, np.copysign(np.zeros_like(found), sign), found)


class Number:
    """The result of a step, and the largest distance of other permitted results.

    An error is infinite where any result is possible.
    """

    __slots__ = ("error", "machine", "value")

    def __init__(self, value: Array, error: Array, machine: Machine) -> None:
        """Take `value` and `error` as long doubles."""
        self.value, self.error, self.machine = value, error, machine

    def __add__(self, other: Number | float) -> Number:
        """Return the sum, rounded."""
        y = self._to_number(other)
        return self._step(self.value + y.value, self.error + y.error)

    def __sub__(self, other: Number | float) -> Number:
        """Return the difference, rounded."""
        y = self._to_number(other)
        return self._step(self.value - y.value, self.error + y.error)

    def __mul__(self, other: Number | float) -> Number:
        """Return the product, rounded unless it is fused into a sum."""
        y = self._to_number(other)
        error = _times(abs(self.value), y.error) + _times(abs(y.value) + y.error, self.error)
        exact = self.value * y.value
        if self.machine.of.bits == _DOUBLE:  # long doubles do not hold all of its digits
            lost = np.where(_is_scale(self.value) | _is_scale(y.value), 0, _LOST)
            error = error + lost * abs(exact)
        return self._step(exact, error)

    def times_and(self, other: Number, addend: Number) -> Number:
        """Return the product plus a number, rounded once if the machine contracts."""
        if not self.machine.contracted:
            return self * other + addend
        error = _times(abs(self.value), other.error)
        error = error + _times(abs(other.value) + other.error, self.error) + addend.error
        exact = self.value * other.value
        if self.machine.of.bits == _DOUBLE:
            error = error + np.where(np.isfinite(exact), _LOST * abs(exact), 0)
        return self._step(exact + addend.value, error)

    def __truediv__(self, other: Number | float) -> Number:
        """Return the quotient, rounded; any result if the divisor may be zero."""
        y = self._to_number(other)
        value, least = self.value / y.value, np.abs(y.value) - y.error
        error = (self.error + _times(np.abs(value), y.error)) / least
        error = np.where((least <= 0) & (y.error > 0), np.inf, error)
        endless = np.isinf(y.value) & np.isfinite(y.error + self.error)
        return self._step(value, np.where(endless, 0, error))  # 0, however inexact the other is

    def __neg__(self) -> Number:
        """Return the negated number, which is exact."""
        return Number(-self.value, self.error, self.machine)

    def __abs__(self) -> Number:
        """Return the magnitude, which is exact."""
        return Number(np.abs(self.value), self.error, self.machine)

    def _to_number(self, other: Number | float) -> Number:
        return other if isinstance(other, Number) else exactly(np.asarray(other), self.machine)

    def _step(self, exact: Array, error: Array, units: float = 0.0) -> Number:
        """Return the number after a step whose result is `exact` on these operands.

        A function may be off by `units`; other steps are correctly rounded.
        """
        machine, size = self.machine, np.abs(exact)
        value, held = machine.round_step(exact), machine.has(exact)
        relative = units * machine.unit if units else np.where(held, 0, machine.unit)
        before = error + (relative * size if units else 0)
        total = error + relative * size
        tiny = (size - total < machine.smallest_normal) & ((error > 0) | ~held)
        if machine.contracted and machine.tiny is not Tiny.KEPT:
            total = np.where(size + total < machine.smallest_normal, 0, total)
            tiny = tiny & (size + total >= machine.smallest_normal)
        total = total + np.where(tiny, machine.least, 0)
        if machine.ranged:  # or it is not known whether it overflows
            total = np.where((before > 0) & (size + before >= overflow(machine.of)), np.inf, total)
        sure = ~np.isinf(error) & (~np.isfinite(exact) | (size - before >= overflow(machine.of)))
        total = np.where(np.isnan(total), np.inf, total)
        total = np.where(np.isfinite(value), total, np.where(sure, 0, np.inf))
        return Number(value, total, machine)

    def root(self) -> Number:
        """Return the square root, rounded."""
        value = np.sqrt(self.value)
        down = value - np.sqrt(np.maximum(self.value - self.error, 0))
        return self._step(value, np.maximum(np.sqrt(self.value + self.error) - value, down))

    def exponential(self) -> Number:
        """Return the exponential."""
        value = np.exp(self.value)
        return self._step(value, _times(value, np.expm1(self.error)), FUNCTION)

    def exponential_minus_one(self) -> Number:
        """Return the exponential minus one, as a function of its own."""
        value = np.expm1(self.value)
        return self._step(value, _times(np.exp(self.value), np.expm1(self.error)), FUNCTION)

    def sine(self) -> Number:
        """Return the sine of an angle in radians."""
        return self._step(np.sin(self.value), self._sine_error(), FUNCTION)

    def cosine(self) -> Number:
        """Return the cosine of an angle in radians."""
        return self._step(np.cos(self.value), self._sine_error(), FUNCTION)

    def _sine_error(self) -> Array:
        """Return the error of a sine from the error of its angle."""
        return np.where(np.isfinite(self.value), np.minimum(self.error, 2), self.error)

    def cosine_minus_one(self) -> Number:
        """Return the cosine minus one by a series, for an exact angle."""
        half = np.sin(self.value / 2)
        return self._step(-2 * half * half, self.error, FUNCTION)

    def logarithm(self) -> Number:
        """Return the natural logarithm."""
        error = np.where(self.error == 0, 0, _logarithm_error(self.error / self.value))
        return self._step(np.log(self.value), error, self.machine.logarithm)

    def logarithm_plus_one(self) -> Number:
        """Return the logarithm of 1 + x, as a function of its own."""
        error = np.where(self.error == 0, 0, _logarithm_error(self.error / (1 + self.value)))
        return self._step(np.log1p(self.value), error, self.machine.logarithm)

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
        return self._step(value, error, FUNCTION)

    def to_power(self, exponent: Number) -> Number:
        """Return this nonnegative number to a real power."""
        value = np.power(self.value, exponent.value)
        error = _times(np.abs(exponent.value), _logarithm_error(self.error / self.value))
        error = error + _times(np.abs(np.log(self.value)), exponent.error)
        none = (self.error == 0) & (exponent.error == 0)
        return self._step(value, np.where(none, 0, _times(value, np.expm1(error))), POWER)


def exactly(numbers: Array, machine: Machine) -> Number:
    """Return numbers without an error; subnormal numbers are zero if the machine flushes them."""
    value = machine.round_step(numbers.astype(np.longdouble))
    return Number(value, np.zeros(value.shape, np.longdouble), machine)


def select(where: Array, x: Number | float, y: Number | float) -> Number:
    """Return `x` where the mask holds, else `y`."""
    one = x if isinstance(x, Number) else y
    assert isinstance(one, Number)
    left, right = (
        side if isinstance(side, Number) else exactly(np.asarray(side), one.machine)
        for side in (x, y)
    )
    value, error = (
        np.where(where, a, b) for a, b in ((left.value, right.value), (left.error, right.error))
    )
    return Number(value, error, one.machine)


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


def _logarithm_error(relative: Array) -> Array:
    """Return the error of the logarithm of a number; infinite for relative errors from 1 on."""
    return -np.log1p(-np.minimum(relative, 1))


def _is_scale(numbers: Array) -> Array:
    """Return a mask of the numbers that are zero or powers of two, whose products are exact."""
    return (numbers == 0) | (np.abs(np.frexp(numbers)[0]) == 0.5)

"""Machines that compute with the parts of complex numbers.

A machine that is not `ranged` computes exactly, without limits to exponents. Any other machine
rounds to its type, and overflows and underflows like it. Steps are correctly rounded, or not
rounded if they are fused with the next; functions have errors of some units.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from conformance.known.numbers_with_error import FUNCTION, Arithmetic, Number
from reference.ir.types import Array, ElementType
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.rounding import overflow_threshold

_DOUBLE, _LOST = 64, 2.0**-63
"""Bits of the type whose products long doubles cannot represent, and their largest relative error.
"""


class Tiny(Enum):
    """Treatment of subnormal numbers."""

    KEPT = auto()
    ZERO = auto()
    NEGATIVE_ZERO = auto()


@dataclass(frozen=True, slots=True)
class Machine(Arithmetic):
    """Arithmetic of the steps: type, range limits and flushing. Numbers are long doubles.

    `logarithm` is the error of a logarithm, in units of the roundoff. A `contracted` machine adds
    the first of two products unrounded, as a fused multiply-add does. Flushing is then predicted
    exactly, and is no error. If the machine `is_exact`, it rounds as the backend does, and has no
    error.
    """

    of: ElementType
    ranged: bool = True
    tiny: Tiny = Tiny.KEPT
    logarithm: float = FUNCTION
    contracted: bool = False
    is_exact: bool = False

    @property
    def unit(self) -> float:
        """The error of a step relative to its result: two executions differ by at most twice as
        much.
        """
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

    def exactly(self, numbers: Array) -> Number:
        """Return numbers without an error; subnormal numbers are zero if the machine flushes."""
        value = self.round_step(numbers.astype(np.longdouble))
        return Number(value, np.zeros(value.shape, np.longdouble), self)

    def product_error(self, x: Array, y: Array) -> Array | float:
        """Return the errors of products that have more digits than long doubles."""
        if self.of.bits != _DOUBLE:
            return 0.0
        size = np.abs(x * y)
        return np.where(_is_scale(x) | _is_scale(y) | ~np.isfinite(size), 0, _LOST * size)

    def has(self, exact: Array) -> Array:
        """Return a mask of the step results that the type represents, where that is decidable."""
        return exact.astype(self.of.storage).astype(np.longdouble) == exact

    def round_step(self, exact: Array) -> Array:
        """Return the result of a step, rounded to the type."""
        if not self.ranged:
            return exact
        with np.errstate(all="ignore"):
            found = exact.astype(self.of.storage).astype(np.longdouble)
        found = np.where(
            np.abs(exact) >= overflow_threshold(self.of), np.copysign(np.inf, exact), found
        )
        if self.tiny is Tiny.KEPT:
            return found
        lost = (np.abs(found) < self.smallest_normal) & (found != 0)
        sign = found if self.tiny is Tiny.ZERO else np.full_like(found, -1)
        return np.where(lost, np.copysign(np.zeros_like(found), sign), found)

    def step(
        self, exact: Array, error: Array, lost: Array, *, units: float | None = None
    ) -> Number:
        """Return the number after a step, with an infinite error if it may overflow."""
        size = np.abs(exact)
        value, held = self.round_step(exact), self.has(exact)
        held = held | (self.is_exact and units is None)
        relative = np.where(held, 0, self.unit) if units is None else units * self.unit
        before = error + (0 if units is None else relative * size)
        total = error + relative * size
        tiny = (size - total < self.smallest_normal) & ((error > 0) & (not self.is_exact) | ~held)
        if self.contracted and self.tiny is not Tiny.KEPT:
            total = np.where(size + total < self.smallest_normal, 0, total)
            tiny = tiny & (size + total >= self.smallest_normal)
        total = total + np.where(tiny, self.least, 0)
        if self.ranged and not self.is_exact:  # or it is not known whether it overflows
            total = np.where(
                (before > 0) & (size + before >= overflow_threshold(self.of)), np.inf, total
            )
        sure = ~np.isinf(error) & (
            ~np.isfinite(exact) | (size - before >= overflow_threshold(self.of))
        )
        total = np.where(np.isnan(total), np.inf, total)
        total = np.where(np.isfinite(value), total, np.where(sure, 0, np.inf))
        return Number(value, total, self, lost)


def _is_scale(numbers: Array) -> Array:
    """Return a mask of the numbers that are zero or powers of two, whose products are exact."""
    return (numbers == 0) | (np.abs(np.frexp(numbers)[0]) == 0.5)

"""Needs: conditions on a value's elements under which a program is meaningful.

The operand of a square root is not negative, an index is in range, a generator's key is any bits.
Needs are soft constraints on drawn inputs: if two contradict each other, only the first is
satisfied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite

BITS, DEFINITE, DOMINANT = "bits", "definite", "dominant"
"""Forms: any bits; positive definite matrices; matrices with a dominant diagonal. The name of a
floating-point type is a form too: the bits of such numbers in integers."""


@dataclass(frozen=True, slots=True)
class Need:
    """A condition on elements: an interval, a form, and relations between elements of an array.

    `distinct` and `in_order` are conditions on all elements of an array together.
    """

    low: float = -inf
    high: float = inf
    is_open: bool = False
    nonzero: bool = False
    form: str = ""
    distinct: bool = False
    in_order: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether there are both a least and a greatest element."""
        return isfinite(self.low) and isfinite(self.high)

    @property
    def is_empty(self) -> bool:
        """Whether no number satisfies the need."""
        return self.low > self.high or (self.low == self.high and self.is_open)

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 is excluded."""
        inside = self.low < 0 < self.high or (0 in (self.low, self.high) and not self.is_open)
        return self.nonzero or not inside


ANY = Need()
NONNEGATIVE = Need(low=0.0)
POSITIVE = Need(low=0.0, is_open=True)
NONZERO = Need(nonzero=True)


def at_least(low: float, *, is_open: bool = False) -> Need:
    """Return the need for numbers from `low` on; `low` itself is excluded if `is_open`."""
    return Need(low=low, is_open=is_open and isfinite(low))


def at_most(high: float, *, is_open: bool = False) -> Need:
    """Return the need for numbers up to `high`; `high` itself is excluded if `is_open`."""
    return Need(high=high, is_open=is_open and isfinite(high))


def conjunction(one: Need, other: Need) -> Need:
    """Return the conjunction of two needs; if they contradict, prefer the bounded or greater."""
    if ANY in (one, other):
        return other if one == ANY else one
    low, high = max(one.low, other.low), min(one.high, other.high)
    ends = [need for need in (one, other) if need.low == low or need.high == high]
    numbers = Need(low, high, any(need.is_open for need in ends))
    if numbers.is_empty:
        chosen = max(one, other, key=lambda need: (need.is_bounded, need.low))
        numbers = Need(chosen.low, chosen.high, chosen.is_open)
    form = one.form or other.form
    return replace(
        numbers,
        nonzero=one.nonzero or other.nonzero,
        form="" if form == BITS and numbers.is_bounded else form,
        distinct=one.distinct or other.distinct,
        in_order=one.in_order or other.in_order,
    )


def negate_need(need: Need) -> Need:
    """Return the need of x under which -x satisfies a need."""
    return replace(need, low=-need.high, high=-need.low)


def shift_need(need: Need, by: float) -> Need:
    """Return the need of x under which x + `by` satisfies the bounds of a need."""
    return replace(need, low=need.low - by, high=need.high - by, nonzero=False)


def scale_need(need: Need, low: float, high: float) -> Need:
    """Return the need of x under which x times all of `low` to `high` satisfies a need; 0 < low.

    Where `high` is infinite, only signs are kept.
    """
    if not isfinite(high):
        return replace(
            need, low=0.0 if need.low >= 0 else -inf, high=0.0 if need.high <= 0 else inf
        )
    return replace(
        need,
        low=need.low / (low if need.low > 0 else high),
        high=need.high / (high if need.high > 0 else low),
    )

"""Reductions computed otherwise: what compilers are known to make of them, by a model.

Each class is a hypothesis: the operation is evaluated again as the compiler is thought to have done
it, and only elements that come out like that are of the class.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.differing import Differing
from conformance.verdict import Verdict
from reference.regions import monoid_of
from reference.rounding import to_float64
from reference.types import Array

NAN_LEFT_OUT = "NaN left out"
"""An extremum of the elements that are numbers."""

ZEROS_ALIKE = "zeros taken for equal"
"""An extremum that is the zero of the other sign, which is there too."""

FROM_ZERO = "summed from +0"
"""A sum that starts at +0, though the init value is -0."""

_REDUCING = ("reduce", "reduce_window")
_PAIR = 2
"""Operands of a reduction of one input: the input and its init value."""


def reduced_otherwise(d: Differing) -> Iterator[tuple[Verdict, str, Array]]:
    """The classes of a reduction of one real input, each with the elements that are of it."""
    if d.operation.name not in _REDUCING or len(d.operands) != _PAIR or not d.is_real:
        return
    operand, init = d.operands
    want, got = d.wide
    wide = to_float64(operand)
    monoid = monoid_of(d.operation.regions[0])
    zeros = (want == 0) & (got == 0)
    if monoid in ("maximum", "minimum"):
        without = np.where(np.isnan(wide), init, operand).astype(operand.dtype)
        yield Verdict.DIVERGENT, NAN_LEFT_OUT, np.isnan(want) & _gives(d, without, init)
        first = (wide == 0) & (np.signbit(wide) == (monoid == "minimum"))
        without = np.where(first, init, operand).astype(operand.dtype)
        yield Verdict.DIVERGENT, ZEROS_ALIKE, zeros & _gives(d, without, init)
    if monoid == "add":
        start = np.zeros_like(init)
        yield Verdict.DIVERGENT, FROM_ZERO, zeros & _gives(d, operand, start)


def _gives(d: Differing, operand: Array, init: Array) -> Array:
    """Which actual elements are those that the operation has on these operands."""
    results = d.evaluated([operand, init])
    if results is None:
        return np.zeros(len(d.where), np.bool_)
    return d.same(results[d.number].reshape(-1)[d.where])

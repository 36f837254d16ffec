"""Wide numbers in the range of a narrower type: full precision, but overflow is infinite.

A formula that the specification spells out is evaluated in more precision than its type has, and
rounded once at the end. But a step that overflows gives an infinity, which IEEE 754-2019 propagates
to a specific result; a larger range would hide that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.types import Array, ElementType
from reference.numerics.rounding import overflow_threshold


class RangedNumbers(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers of float64 or wider, for numpy's functions; a result beyond the range of a narrower
    type is infinite.

    Types without an infinity do not overflow: the specification does not say what the result should
    be.
    """

    __slots__ = ("numbers", "of")

    def __init__(self, numbers: Array, element_type: ElementType) -> None:
        """Wrap `numbers`, which are wide (see reference/numerics/products.py)."""
        self.numbers = numbers
        self.of = element_type

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> RangedNumbers:
        """Apply a function of numpy, or its reduction, to the numbers."""
        wide = [one.numbers if isinstance(one, RangedNumbers) else one for one in inputs]
        found = np.asarray(getattr(ufunc, method)(*wide, **given))
        if self.of.float_format.has_infinity:
            beyond = np.abs(found) >= overflow_threshold(self.of)
            found = np.where(beyond, np.copysign(np.inf, found), found)
        return RangedNumbers(found.astype(wide[0].dtype), self.of)

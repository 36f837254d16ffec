"""Functions of complex numbers in real operations, as StableHLO's expander writes them.

From jaxlib 0.12 on, programs are expanded before XLA's compilers see them.

Source: the pass stablehlo-complex-math-expander; jaxlib 0.12.0, the expanded modules.
"""

from __future__ import annotations

import numpy as np

from conformance.known.numbers_with_error import Number, larger, select, smaller
from conformance.known.xla.complex_numbers.complex_formulas import Complex, parts_by_size

_ROOT = float(np.sqrt(2.0))
_TURNED_REAL, _TURNED_IMAG = float(np.sqrt(1 + _ROOT)), float(2 * np.sqrt((1 + _ROOT) / 2))
"""Factors of the root of a number whose parts have equal magnitudes."""


def _hypotenuse(most: Number, least: Number) -> Number:
    """Return the root of the sum of two squares, with a series where the ratio is small."""
    ratio = least / most
    square = ratio * ratio
    root = (square + 1.0).root()
    is_flat = (root.value == 1) & (square.value > 0)
    size = select(is_flat, most + most * square * 0.5, most * root)
    return select(most.value == least.value, most * _ROOT, size)


def sqrt(z: Complex) -> Complex:
    """Return the root of half the sum of modulus and real part, and a quotient by it.

    If the first root is zero or infinite, both parts are products with roots of the parts.
    """
    x, y = abs(z.real), abs(z.imag)
    root = (_hypotenuse(*parts_by_size(z)) * 0.5 + x * 0.5).root()
    along, above = root, y / (root * 2.0)
    far, far_above = _scaled_root(x, y)
    is_far = (root.value == 0) | np.isinf(root.value)
    along, above = select(is_far, far, along), select(is_far, far_above, above)
    is_diagonal = x.value == y.value
    along = select(is_diagonal, x.root() * _TURNED_REAL / _ROOT, along)
    above = select(is_diagonal, y.root() / _TURNED_IMAG, above)
    is_right, is_down = z.real.value >= 0, z.imag.value < 0
    upwards = select(is_right, above, along)
    return Complex(select(is_right, along, above), select(is_down, -upwards, upwards))


def _scaled_root(x: Number, y: Number) -> tuple[Number, Number]:
    """Return both parts of the root of x + i y by the ratio of x and y."""
    is_wide, is_high = x.value > y.value, x.value < y.value
    one = select(np.ones(x.value.shape, np.bool_), 1.0, x)
    ratio = select(x.value == y.value, one, select(is_high, x / y, y / x))
    size = _hypotenuse(larger(ratio, one), smaller(ratio, one))
    first, second = (size + 1.0).root(), (ratio + size).root()
    turn = select(is_high, x.root() / y.root(), y.root() / x.root())
    along = select(is_wide, x.root() * (first / _ROOT), y.root() * (second / _ROOT))
    above = select(is_wide, y.root() * turn / (first * _ROOT), y.root() / (second * _ROOT))
    return along, above

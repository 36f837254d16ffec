"""Functions of complex constants, as constant folding computes them with the C++ library.

Products and logarithms of infinite numbers follow Annex G of the C standard.

Source: XLA's HloEvaluator; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.numbers_with_error import select
from conformance.known.xla.complex_numbers import complex_formulas
from conformance.known.xla.complex_numbers.complex_formulas import Complex, is_infinite


def log(z: Complex, side: float = 0) -> Complex:
    """Return the logarithm; the logarithm of an infinite number has an infinite real part."""
    size, angle = complex_formulas.log(z, side)
    return Complex(select(is_infinite(z), np.inf, size), angle)


def multiply(x: Complex, y: Complex) -> Complex:
    """Return the product; where both parts are NaN and `y` is infinite, the limit."""
    real, imag = complex_formulas.multiply(x, y)
    undefined = np.isnan(real.value) & np.isnan(imag.value) & is_infinite(y)
    bounded = Complex(*(select(np.isnan(part.value), 0.0, part) for part in x))
    limit = complex_formulas.multiply(bounded, complex_formulas.infinity_indicator(y))
    return Complex(
        select(undefined, limit.real * np.inf, real), select(undefined, limit.imag * np.inf, imag)
    )


ANGLES = complex_formulas.angles(log, product=multiply)
"""The formulas of `atan2`, on each side of the branch cuts."""

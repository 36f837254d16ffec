"""Properties of rounded accumulations: overflow, exactness, error bounds.

A backend may fold in any order, and rounds each partial result to the type of the body. For each
sum or product of floating-point and complex numbers, this file says whether it overflows or
underflows in some orders only, and how far two orders can differ.

Sources: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2 (sums);
C.-P. Jeannerod and S. M. Rump, Improved Error Bounds for Inner Products in Floating-Point
Arithmetic, 2013 (the constant n - 1 in any order, without terms of higher order); R. Brent, C.
Percival and P. Zimmermann, Error Bounds on Complex Floating-Point Multiplication, 2007.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.contributions import Leaves
from reference.numerics.rounding import to_float64
from reference.numerics.schedules import LIKELY, growth_of_sum, has_likely_bound, order_factor

NO_EXPONENT = 1 << 20  # larger than any exponent
_COMPLEX_PRODUCT = np.sqrt(5.0)

_MOST_LEAVES = 1 << 24
"""Leaves of all results whose sums are tried in the usual orders."""


def unit_roundoff(element_type: ElementType) -> float:
    """Return u, the largest relative error of rounding to nearest."""
    return 2.0**-element_type.float_format.precision


class _LeafFolds:
    """Folds of functions of the leaves and one init value, in float64 or wider."""

    def __init__(self, values: Array, init: Array, leaves: Leaves) -> None:
        """Store `values` and `init`, which are real and treated as exact."""
        wide = np.longdouble if values.dtype == np.float64 else np.float64
        self.values = to_float64(values).astype(wide)
        self.init = to_float64(init).astype(wide)
        self.leaves = leaves

    def fold(self, ufunc: np.ufunc, function: Callable[[Array], Array], neutral: float) -> Array:
        """Apply `function` to the leaves and the init value, and fold the results by the ufunc."""
        values, init = function(self.values), function(self.init)
        start = values.dtype.type(neutral)
        folded = self.leaves.fold(ufunc, values, init, start)
        return np.asarray(ufunc(folded, init))

    def any(self, function: Callable[[Array], Array]) -> Array:
        """Return whether the function holds for any leaf or the init value."""
        return self.fold(np.logical_or, function, False)

    def sum(self, function: Callable[[Array], Array]) -> Array:
        """Return the sum of the function, which must not be negative."""
        return self.fold(np.add, function, 0)


def _finite_or_zero(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0)


def _growth(steps: Array, u: float) -> Array:
    """Return the largest factor by which this number of roundings can increase a result."""
    return np.exp(steps * np.log1p(u))


def sum_may_overflow(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of the real sums for which the order decides about infinities.

    A sum is determined if a leaf is NaN or the leaves have infinities of both signs; if it is
    infinite and no finite partial sum can become the opposite infinity; if all leaves have one sign
    and it is too large for the type; or if no partial sum can leave the range. All other sums are
    unspecified.
    """
    element_type = element_type_of(values)
    found = _LeafFolds(values, init, leaves)
    up = found.sum(lambda x: np.maximum(_finite_or_zero(x), 0))
    down = found.sum(lambda x: np.maximum(-_finite_or_zero(x), 0))
    growth, limit = (
        _growth(leaves.counts + 1, unit_roundoff(element_type)),
        element_type.float_format.max_finite,
    )
    over, under = up * growth > limit, down * growth > limit
    if not element_type.float_format.has_infinity:
        return (over | under) & ~found.any(np.isnan)
    plus, minus = found.any(lambda x: x == np.inf), found.any(lambda x: x == -np.inf)
    nan = found.any(np.isnan) | (plus & minus)
    beyond = limit * (1 + unit_roundoff(element_type)) * growth
    sure = ((up > beyond) & (down == 0)) | ((down > beyond) & (up == 0))
    open_ = np.where(plus, under, np.where(minus, over, (over | under) & ~sure))
    return open_ & ~nan


def sum_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """Return the largest distance of a rounded real sum from `expected`, in any order: float64.

    The bound is (n - 1) u sum|x| for the backend, or less in many numbers
    (reference/numerics/schedules.py), plus u |sum| for the reference's own rounding. It is 0 if all
    leaves are multiples of one power of two and no partial sum can need more bits than the type
    has.
    """
    element_type = element_type_of(values)
    found = _LeafFolds(values, init, leaves)
    magnitudes = found.sum(lambda x: np.abs(_finite_or_zero(x)))
    steps = leaves.counts - 1 + (found.init != 0)
    u = unit_roundoff(element_type)
    own = np.abs(_finite_or_zero(to_float64(expected)))
    growth = growth_of_sum(steps, u, _order_factors(values, init, leaves))
    bound = growth * magnitudes + u * own
    lowest = found.fold(np.minimum, _lowest_bit, NO_EXPONENT)
    exact = magnitudes <= np.ldexp(
        1.0, np.minimum(lowest + element_type.float_format.precision, 2000)
    )
    return np.where(exact & np.isfinite(to_float64(expected)), 0.0, bound).astype(np.float64)


def _order_factors(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return `order_factor` of the leaves of each result; infinity where there are too many."""
    counts = leaves.counts
    factors = np.full(counts.size, LIKELY)
    if not has_likely_bound(float(counts.max(initial=0))):
        return factors.reshape(counts.shape)
    if counts.sum() > _MOST_LEAVES:
        return np.full(counts.shape, np.inf)
    for places, (rows,) in leaves.groups([values], [init]):
        factors[places] = order_factor(rows)
    return factors.reshape(counts.shape)


def sum_flush_loss(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return the largest loss of a real sum, in any order, if subnormals are flushed: float64.

    The loss is the sum of subnormal leaves, plus, at each step, a partial sum under the smallest
    normal number. It is at most the sum of all magnitudes, because the sum restarts after such a
    step. It is 0 if all leaves, and therefore all sums, are multiples of the smallest normal
    number.
    """
    element_type = element_type_of(values)
    found = _LeafFolds(values, init, leaves)
    tiny = element_type.float_format.smallest_normal
    subnormal = found.sum(lambda x: np.where(np.abs(x) < tiny, np.abs(x), 0))
    magnitudes = found.sum(lambda x: np.abs(_finite_or_zero(x)))
    lost = np.minimum(subnormal + leaves.counts * tiny, magnitudes)
    lowest = found.fold(np.minimum, _lowest_bit, NO_EXPONENT)
    return np.where(lowest < np.log2(tiny), lost, 0.0).astype(np.float64)


def _lowest_bit(x: Array) -> Array:
    """Return the exponent of the last bit that is set; `NO_EXPONENT` for zero."""
    fraction, exponent = np.frexp(_finite_or_zero(x))
    digits = np.ldexp(fraction, 53).astype(np.int64)  # all values here have at most 53 bits
    last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(digits == 0, NO_EXPONENT, exponent - 53 + last).astype(np.int64)


def product_may_leave_range(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of the real products for which the order decides about infinities or zeros.

    As for sums: unspecified if the product of some leaves can overflow or become subnormal, unless
    all leaves change it in one direction and the result is certainly infinite.
    """
    element_type = element_type_of(values)
    found = _LeafFolds(values, init, leaves)
    up, down = _exponents(found)
    form = element_type.float_format
    slack = (leaves.counts + 1) * 1.5 * unit_roundoff(element_type) + 1e-9 * (1 + up - down)
    over = up + slack >= np.log2(form.max_finite)
    under = -down + slack >= -np.log2(form.smallest_normal)
    nan = found.any(np.isnan)
    if not form.has_infinity:
        return (over | under) & ~nan
    infinite, zero = found.any(np.isinf), found.any(lambda x: x == 0)
    sure = (down == 0) & (up - slack > form.max_exponent + 1)
    open_ = np.where(infinite, under, np.where(zero, over, (over | under) & ~sure))
    return open_ & ~nan & ~(infinite & zero)


def _exponents(folded: _LeafFolds) -> tuple[Array, Array]:
    """Return the sums of positive and of negative binary logarithms, without zeros and
    infinities."""

    def logarithm(x: Array) -> Array:
        magnitude = np.where((x == 0) | ~np.isfinite(x), 1, np.abs(x))
        return np.log2(magnitude)

    up = folded.sum(lambda x: np.maximum(logarithm(x), 0))
    return up, -folded.sum(lambda x: np.maximum(-logarithm(x), 0))


def product_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """Return the largest distance of a rounded real product from `expected`, in any order: float64.

    The bound is |product| ((1 + u)^n - 1): n - 1 roundings of the backend and a rounding of the
    reference. n counts the init value unless it is 1, because a product with 1 is exact. The bound
    is 0 if the type can hold the product of the odd parts of all leaves.
    """
    element_type = element_type_of(values)
    found = _LeafFolds(values, init, leaves)
    steps = leaves.counts + (found.init != 1)
    bound = np.abs(to_float64(expected)) * (_growth(steps, unit_roundoff(element_type)) - 1)
    odd = found.fold(np.multiply, _odd_part, 1)
    exact = odd <= 2.0**element_type.float_format.precision
    return np.where(exact & np.isfinite(to_float64(expected)), 0.0, bound).astype(np.float64)


def _odd_part(x: Array) -> Array:
    """Return the magnitude without its factors of two; 1 for zero."""
    lowest = _lowest_bit(x)
    return np.where(
        lowest == NO_EXPONENT, 1, np.ldexp(np.abs(_finite_or_zero(x)), np.where(x == 0, 0, -lowest))
    )


def _parts(x: Array) -> tuple[Array, Array]:
    return np.real(x).copy(), np.imag(x).copy()


def is_complex_sum_unspecified(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of the complex sums that can raise an exception in one part, in some order.

    The specification's "Floating-point exceptions" leaves exceptions of complex arithmetic to the
    implementation.
    """
    open_ = np.zeros(leaves.shape, np.bool_)
    for part, start in zip(_parts(values), _parts(init), strict=True):
        found = _LeafFolds(part, start, leaves)
        opposite = found.any(lambda x: x == np.inf) & found.any(lambda x: x == -np.inf)
        up = found.sum(lambda x: np.abs(_finite_or_zero(x))) * _growth(
            leaves.counts + 1, unit_roundoff(element(part))
        )
        open_ |= opposite | (up > element(part).float_format.max_finite)
    return open_


def element(array: Array) -> ElementType:
    """Return the element type of an array."""
    return element_type_of(array)


def complex_sum_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """Return the bound of `sum_bound` for the modulus of the error."""
    parts = zip(_parts(values), _parts(init), _parts(expected), strict=True)
    real, imag = (sum_bound(part, start, leaves, want) for part, start, want in parts)
    return np.hypot(real, imag)


def complex_sum_flush_loss(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return the loss of `sum_flush_loss` for the modulus."""
    parts = zip(_parts(values), _parts(init), strict=True)
    return np.hypot(*(sum_flush_loss(part, start, leaves) for part, start in parts))


def is_complex_product_unspecified(values: Array, init: Array, leaves: Leaves) -> Array:
    """Return a mask of the complex products that may raise an exception or underflow in a part."""
    form = element_type_of(values).float_format
    wide, start = values.astype(np.complex128), init.astype(np.complex128)
    infinite = _LeafFolds(np.abs(wide), np.abs(start), leaves).any(lambda x: ~np.isfinite(x))
    found = _LeafFolds(np.abs(wide).astype(np.float64), np.abs(start).astype(np.float64), leaves)
    up, down = _exponents(found)
    zero = found.any(lambda x: x == 0)
    over = up + 2 >= form.max_exponent
    under = down - 2 <= form.min_exponent + form.precision
    return infinite | over | (under & ~zero)


def complex_product_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """Return |product| ((1 + sqrt(5) u)^n - 1), a bound of the modulus of the error.

    n counts the init value unless it is 1, as in `product_bound`.
    """
    u = _COMPLEX_PRODUCT * unit_roundoff(element_type_of(values))
    modulus = np.abs(expected.astype(np.complex128))
    return modulus * (_growth(leaves.counts + (init != 1), u) - 1)

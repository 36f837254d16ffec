"""What rounded accumulations of given numbers can do: overflow, be exact, err by how much at most.

A backend may fold in any order, and rounds each partial result to the type of the body. For sums
and products of floating-point and complex numbers this file says, per result, where some order
overflows or underflows while another may not, and how far two orders can be apart.

Sources: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2 (sums);
C.-P. Jeannerod and S. M. Rump, Improved Error Bounds for Inner Products in Floating-Point
Arithmetic, 2013 (the constant n - 1 in any order, without terms of higher order); R. Brent,
C. Percival and P. Zimmermann, Error Bounds on Complex Floating-Point Multiplication, 2007.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.contributions import Leaves
from reference.numerics.rounding import to_float64

NONE = 1 << 20  # an exponent beyond all
_COMPLEX_PRODUCT = np.sqrt(5.0)


def unit_roundoff(element_type: ElementType) -> float:
    """u: the largest relative error of rounding to nearest."""
    return 2.0**-element_type.float_format.precision


class _Folded:
    """Folds of functions of the leaves and of one init value, in float64 or wider."""

    def __init__(self, values: Array, init: Array, leaves: Leaves) -> None:
        """`values` and `init` are real; they are taken as exact numbers."""
        wide = np.longdouble if values.dtype == np.float64 else np.float64
        self.values = to_float64(values).astype(wide)
        self.init = to_float64(init).astype(wide)
        self.leaves = leaves

    def fold(self, ufunc: np.ufunc, function: Callable[[Array], Array], neutral: float) -> Array:
        """The leaves' and the init value's `function` folded by the ufunc."""
        values, init = function(self.values), function(self.init)
        start = values.dtype.type(neutral)
        folded = self.leaves.fold(ufunc, values, init, start)
        return np.asarray(ufunc(folded, init))

    def any(self, function: Callable[[Array], Array]) -> Array:
        """Whether the function holds of any of them."""
        return self.fold(np.logical_or, function, False)

    def sum(self, function: Callable[[Array], Array]) -> Array:
        """The sum of the function, which is not negative anywhere."""
        return self.fold(np.add, function, 0)


def _finite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0)


def _growth(leaves: Leaves, u: float) -> Array:
    """By how much rounding can make a partial result larger, at most."""
    return np.exp((leaves.counts + 1) * np.log1p(u))


def sum_may_overflow(values: Array, init: Array, leaves: Leaves) -> Array:
    """Where the order decides about infinities in a sum of real numbers.

    Determined are: NaN when a NaN or infinities of both signs are among the leaves; an infinity
    when no finite partial sum can become the opposite one; what is too large for the type when
    all leaves have one sign; and what no partial sum can leave the range of. The rest is open.
    """
    of = element_type_of(values)
    found = _Folded(values, init, leaves)
    up = found.sum(lambda x: np.maximum(_finite(x), 0))
    down = found.sum(lambda x: np.maximum(-_finite(x), 0))
    growth, limit = _growth(leaves, unit_roundoff(of)), of.float_format.max_finite
    over, under = up * growth > limit, down * growth > limit
    if not of.float_format.has_infinity:
        return (over | under) & ~found.any(np.isnan)
    plus, minus = found.any(lambda x: x == np.inf), found.any(lambda x: x == -np.inf)
    nan = found.any(np.isnan) | (plus & minus)
    beyond = limit * (1 + unit_roundoff(of)) * growth
    sure = ((up > beyond) & (down == 0)) | ((down > beyond) & (up == 0))
    open_ = np.where(plus, under, np.where(minus, over, (over | under) & ~sure))
    return open_ & ~nan


def sum_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """How far a rounded sum of real numbers may be from `expected`, in any order: float64.

    (n - 1) u sum|x| for the backend, u |sum| for the reference's own rounding; nothing where all
    leaves are multiples of one power of two and no partial sum can need more bits than there are.
    """
    of = element_type_of(values)
    found = _Folded(values, init, leaves)
    magnitudes = found.sum(lambda x: np.abs(_finite(x)))
    steps = leaves.counts - 1 + (found.init != 0)
    u = unit_roundoff(of)
    own = np.abs(_finite(to_float64(expected)))
    bound = u * (np.maximum(steps, 0) * magnitudes + own)
    lowest = found.fold(np.minimum, _lowest_bit, NONE)
    exact = magnitudes <= np.ldexp(1.0, np.minimum(lowest + of.float_format.precision, 2000))
    return np.where(exact & np.isfinite(to_float64(expected)), 0.0, bound).astype(np.float64)


def sum_lost(values: Array, init: Array, leaves: Leaves) -> Array:
    """What a sum of real numbers may lose, in any order, where whatever is subnormal on the way
    is taken for zero: float64.

    Those of the leaves that are subnormal, and at each step a partial sum under the smallest normal
    number; of all together no more than their magnitudes, as after such a step the sum starts
    anew. Nothing where all leaves are multiples of that number: so is what they add up to.
    """
    of = element_type_of(values)
    found = _Folded(values, init, leaves)
    tiny = of.float_format.smallest_normal
    subnormal = found.sum(lambda x: np.where(np.abs(x) < tiny, np.abs(x), 0))
    magnitudes = found.sum(lambda x: np.abs(_finite(x)))
    lost = np.minimum(subnormal + leaves.counts * tiny, magnitudes)
    lowest = found.fold(np.minimum, _lowest_bit, NONE)
    return np.where(lowest < np.log2(tiny), lost, 0.0).astype(np.float64)


def _lowest_bit(x: Array) -> Array:
    """The exponent of the last bit that is set, of zero `NONE`."""
    fraction, exponent = np.frexp(_finite(x))
    digits = np.ldexp(fraction, 53).astype(np.int64)  # all values here have at most 53 bits
    last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(digits == 0, NONE, exponent - 53 + last).astype(np.int64)


def product_may_leave(values: Array, init: Array, leaves: Leaves) -> Array:
    """Where the order decides about infinities or zeros in a product of real numbers.

    As for sums: open where the product of some of the leaves can overflow or come below the normal
    numbers, unless all leaves pull in one direction and the result is infinite for sure.
    """
    of = element_type_of(values)
    found = _Folded(values, init, leaves)
    up, down = _exponents(found)
    form = of.float_format
    slack = (leaves.counts + 1) * 1.5 * unit_roundoff(of) + 1e-9 * (1 + up - down)
    over = up + slack >= np.log2(form.max_finite)
    under = -down + slack >= -np.log2(form.smallest_normal)
    nan = found.any(np.isnan)
    if not form.has_infinity:
        return (over | under) & ~nan
    infinite, zero = found.any(np.isinf), found.any(lambda x: x == 0)
    sure = (down == 0) & (up - slack > form.max_exponent + 1)
    open_ = np.where(infinite, under, np.where(zero, over, (over | under) & ~sure))
    return open_ & ~nan & ~(infinite & zero)


def _exponents(folded: _Folded) -> tuple[Array, Array]:
    """Sums of the binary logarithms over 1 and under 1; zeros and infinities left out."""

    def logarithm(x: Array) -> Array:
        magnitude = np.where((x == 0) | ~np.isfinite(x), 1, np.abs(x))
        return np.log2(magnitude)

    up = folded.sum(lambda x: np.maximum(logarithm(x), 0))
    return up, -folded.sum(lambda x: np.maximum(-logarithm(x), 0))


def product_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """How far a rounded product of real numbers may be from `expected`, in any order: float64.

    |product| ((1 + u)^n - 1): n - 1 roundings of the backend and one of the reference; nothing
    where the odd parts of all leaves multiply to a number that the type holds.
    """
    of = element_type_of(values)
    found = _Folded(values, init, leaves)
    bound = np.abs(to_float64(expected)) * (_growth(leaves, unit_roundoff(of)) - 1)
    odd = found.fold(np.multiply, _odd_part, 1)
    exact = odd <= 2.0**of.float_format.precision
    return np.where(exact & np.isfinite(to_float64(expected)), 0.0, bound).astype(np.float64)


def _odd_part(x: Array) -> Array:
    """The magnitude without its factors of two; of zero 1."""
    lowest = _lowest_bit(x)
    return np.where(lowest == NONE, 1, np.ldexp(np.abs(_finite(x)), np.where(x == 0, 0, -lowest)))


def _parts(x: Array) -> tuple[Array, Array]:
    return np.real(x).copy(), np.imag(x).copy()


def complex_sum_is_open(values: Array, init: Array, leaves: Leaves) -> Array:
    """Where a sum of complex numbers meets an exception in one of its parts, in some order.

    Spec "Floating-point exceptions" leaves those of complex arithmetic to the implementation.
    """
    open_ = np.zeros(leaves.shape, np.bool_)
    for part, start in zip(_parts(values), _parts(init), strict=True):
        found = _Folded(part, start, leaves)
        opposite = found.any(lambda x: x == np.inf) & found.any(lambda x: x == -np.inf)
        up = found.sum(lambda x: np.abs(_finite(x))) * _growth(leaves, unit_roundoff(element(part)))
        open_ |= opposite | (up > element(part).float_format.max_finite)
    return open_


def element(array: Array) -> ElementType:
    """The element type of an array."""
    return element_type_of(array)


def complex_sum_bound(values: Array, init: Array, leaves: Leaves, expected: Array) -> Array:
    """As `sum_bound`, of the modulus of the error."""
    parts = zip(_parts(values), _parts(init), _parts(expected), strict=True)
    real, imag = (sum_bound(part, start, leaves, want) for part, start, want in parts)
    return np.hypot(real, imag)


def complex_sum_lost(values: Array, init: Array, leaves: Leaves) -> Array:
    """As `sum_lost`, of the modulus of what is lost."""
    parts = zip(_parts(values), _parts(init), strict=True)
    return np.hypot(*(sum_lost(part, start, leaves) for part, start in parts))


def complex_product_is_open(values: Array, init: Array, leaves: Leaves) -> Array:
    """Where a product of complex numbers may meet an exception, or lose a part to underflow."""
    form = element_type_of(values).float_format
    wide, start = values.astype(np.complex128), init.astype(np.complex128)
    infinite = _Folded(np.abs(wide), np.abs(start), leaves).any(lambda x: ~np.isfinite(x))
    found = _Folded(np.abs(wide).astype(np.float64), np.abs(start).astype(np.float64), leaves)
    up, down = _exponents(found)
    zero = found.any(lambda x: x == 0)
    over = up + 2 >= form.max_exponent
    under = down - 2 <= form.min_exponent + form.precision
    return infinite | over | (under & ~zero)


def complex_product_bound(values: Array, _: Array, leaves: Leaves, expected: Array) -> Array:
    """|product| ((1 + sqrt(5) u)^n - 1), of the modulus of the error."""
    u = _COMPLEX_PRODUCT * unit_roundoff(element_type_of(values))
    modulus = np.abs(expected.astype(np.complex128))
    return modulus * (_growth(leaves, u) - 1)

"""Complex elementary functions, products, quotients and moduli: each part correctly rounded.

The fast step computes both parts in longdouble with an error bound for each, by formulas as in
`reference.numerics.elementary.complex_balls`. If the bound does not decide a part, balls do; for
multiply, divide and abs, integer arithmetic does. Operands that are infinite, NaN or a pole are in
`reference.numerics.elementary.complex_specials`.

Each part is rounded independently of the other: the strictest reading of correct rounding, under
which results do not depend on the method of computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from reference.ir.types import Array, ElementType, element_type_of, to_bits
from reference.numerics.elementary.certified import round_certified
from reference.numerics.elementary.complex_balls import BALLS
from reference.numerics.elementary.complex_specials import SPECIALS, Parts
from reference.numerics.elementary.exact import common, odd_quotient, odd_root, round_dyadic
from reference.numerics.elementary.inverse_balls import INVERSE_BALLS
from reference.numerics.rounding import HAS_EXTENDED, round_to

T = TypeVar("T", int, float)
BoundedValues = tuple[Array, Array]
"""Values and the absolute error allowed to each."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The available precision.

    Attributes:
        dtype: the type of the fast step.
        relative: error allowed to a product of a few functions, five times the measured error.
        step: error allowed to one or two elementary operations.
        limit: bound to which arguments of exp are clamped; e^limit is far beyond the rounded type.
    """

    dtype: type[np.floating]
    relative: float
    step: float
    limit: float


_EXTENDED = Arithmetic(np.longdouble, 2.0**-59, 2.0**-62, 5000.0)
_DOUBLE = Arithmetic(np.float64, 2.0**-45, 2.0**-51, 300.0)
AVAILABLE = _EXTENDED if HAS_EXTENDED else _DOUBLE


def _relative(values: Array) -> BoundedValues:
    return values, np.abs(values) * AVAILABLE.relative


def _sum(*terms: Array) -> BoundedValues:
    """Return the sum of terms, with the error that a few roundings of each term may cause."""
    total, size = terms[0], np.abs(terms[0])
    for term in terms[1:]:
        total, size = total + term, size + np.abs(term)
    return total, size * AVAILABLE.relative


def _clip(x: Array) -> Array:
    return np.clip(x, -AVAILABLE.limit, AVAILABLE.limit)


def _exponential(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    size = np.exp(_clip(x))
    return _relative(size * np.cos(y)), _relative(size * np.sin(y))


def _exponential_minus_one(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    x = _clip(x)
    half = np.sin(y / 2)
    real = _sum(np.expm1(x) * np.cos(y), -2 * half * half)
    return real, _relative(np.exp(x) * np.sin(y))


def _log_size(x: Array, y: Array, excess: Array, error: Array) -> BoundedValues:
    """Return log|x + iy|, given |x + iy|^2 - 1 and its error, which matter if it is small."""
    size = np.hypot(x, y)
    near = (size > 0.75) & (size < 1.5)
    value = np.where(near, np.log1p(np.where(near, excess, 0)) / 2, np.log(size))
    return value, np.abs(value) * AVAILABLE.relative + np.where(near, error, 0)


def _log(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    a, b = np.abs(x), np.abs(y)
    large, small = np.maximum(a, b), np.minimum(a, b)
    over, rest = (large - 1) * (large + 1), small * small
    error = 2 * AVAILABLE.step * (np.abs(over) + rest)
    return _log_size(x, y, over + rest, error), _relative(np.arctan2(y, x))


def _log_plus_one(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    shifted = x + 1
    over, rest = x * (2 + x), y * y
    error = 2 * AVAILABLE.step * (np.abs(over) + rest)
    return _log_size(shifted, y, over + rest, error), _relative(np.arctan2(y, shifted))


def _logistic(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    x = np.clip(x, -AVAILABLE.limit / 2, AVAILABLE.limit / 2)
    size, less, half = np.exp(-x), np.expm1(-x), np.cos(y / 2)
    bump = 2 * size * half * half
    norm = less * less + 2 * bump
    return _sum(bump / norm, -less / norm), _relative(size * np.sin(y) / norm)


def _sine(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    y = _clip(y)
    return _relative(np.sin(x) * np.cosh(y)), _relative(np.cos(x) * np.sinh(y))


def _cosine(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    y = _clip(y)
    return _relative(np.cos(x) * np.cosh(y)), _relative(-np.sin(x) * np.sinh(y))


def _sinh(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    imaginary, real = _sine(y, x)
    return real, imaginary


def _cosh(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    return _cosine(-y, x)


def _tan(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    y = np.clip(y, -AVAILABLE.limit / 2, AVAILABLE.limit / 2)
    s, c, sh = np.sin(x), np.cos(x), np.sinh(y)
    norm = c * c + sh * sh
    return _relative(s * c / norm), _relative(sh * np.cosh(y) / norm)


def _tanh(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    imaginary, real = _tan(y, x)
    return real, imaginary


def _root(x: Array, y: Array) -> tuple[Array, Array, Array]:
    size = np.hypot(x, y)
    large = np.sqrt((size + np.abs(x)) / 2)
    small = np.where(y == 0, 0, np.abs(y) / (2 * large))
    right = x >= 0
    real, imaginary = np.where(right, large, small), np.where(right, small, large)
    return real, np.copysign(imaginary, y), size


def _sqrt(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    real, imaginary, _ = _root(x, y)
    return _relative(real), _relative(imaginary)


def _rsqrt(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    real, imaginary, size = _root(x, y)
    return _relative(real / size), _relative(-imaginary / size)


def _cbrt(x: Array, y: Array) -> tuple[BoundedValues, BoundedValues]:
    size, third = np.cbrt(np.hypot(x, y)), np.arctan2(y, x) / 3
    return _relative(size * np.cos(third)), _relative(size * np.sin(third))


def _power(x: Array, y: Array, u: Array, v: Array) -> tuple[BoundedValues, BoundedValues]:
    (size, size_error), (angle, angle_error) = _log(x, y)
    grown, grown_error = _sum(u * size, -(v * angle))
    turn, turn_error = _sum(u * angle, v * size)
    grown_error = grown_error + np.abs(u) * size_error + np.abs(v) * angle_error
    turn_error = turn_error + np.abs(u) * angle_error + np.abs(v) * size_error
    result, error = np.exp(_clip(grown)), grown_error + AVAILABLE.relative
    error = np.where(error < 0.1, 2 * error, np.inf)
    s, c = np.sin(turn), np.cos(turn)
    real_error = np.abs(c) * error + np.where(turn_error == 0, 0, turn_error)
    # Exactly real: 0 * inf must not become NaN, and a zero must keep its sign.
    imaginary_error = np.where(turn == 0, 0, np.abs(s) * error) + turn_error
    return (result * c, result * real_error), (result * s, result * imaginary_error)


def _multiply(a: Array, b: Array, c: Array, d: Array) -> tuple[BoundedValues, BoundedValues]:
    first, second, third, fourth = a * c, b * d, a * d, b * c
    return (
        (first - second, AVAILABLE.step * (np.abs(first) + np.abs(second))),
        (third + fourth, AVAILABLE.step * (np.abs(third) + np.abs(fourth))),
    )


def _divide(a: Array, b: Array, c: Array, d: Array) -> tuple[BoundedValues, BoundedValues]:
    (real, real_error), (imaginary, imaginary_error) = _multiply(a, b, c, -d)
    norm = c * c + d * d
    real, imaginary = real / norm, imaginary / norm
    return (
        (real, real_error / norm + 2 * AVAILABLE.step * np.abs(real)),
        (imaginary, imaginary_error / norm + 2 * AVAILABLE.step * np.abs(imaginary)),
    )


FAST: dict[str, Callable[..., tuple[BoundedValues, BoundedValues]]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _cbrt,
        _cosh,
        _cosine,
        _divide,
        _exponential,
        _exponential_minus_one,
        _log,
        _log_plus_one,
        _logistic,
        _multiply,
        _power,
        _rsqrt,
        _sine,
        _sinh,
        _sqrt,
        _tan,
        _tanh,
    )
}
"""The fast formulas, which give both parts with bounds; other functions are computed in balls."""


SINGULAR_AT_ZERO = tuple(
    name for name, function in FAST.items() if function in (_log, _sqrt, _rsqrt, _cbrt, _power)
)
"""Functions with a pole or a branch point at zero, and a cut along the negative real axis."""


def _combine(name: str, part: int, a: T, b: T, c: T, d: T) -> T:
    """Return the numerator of a part of a product or quotient."""
    if name == "multiply":
        return a * d + b * c if part else a * c - b * d
    return b * c - a * d if part else a * c + b * d


def _exact_part(name: str, part: int, rows: list[tuple[float, ...]], to: ElementType) -> Array:
    """Return a part of products or quotients through integers, with the zeros of IEEE 754."""
    values: list[tuple[int, int]] = []
    zeros: list[tuple[int, float]] = []
    for index, row in enumerate(rows):
        (a, b), e = common(*row[:2])
        (c, d), f = common(*row[2:])
        over = _combine(name, part, a, b, c, d)
        if over == 0:  # both products are zero, or they cancel: the same for -1, 0 and 1
            units = [math.copysign(1.0 if x else 0.0, x) for x in row]
            zeros.append((index, _combine(name, part, *units)))
        if name == "multiply":
            values.append((over, e + f))
        else:
            m, shift = odd_quotient(over, c * c + d * d)
            values.append((m, shift + e - f))
    result = round_dyadic(values, to)
    for index, zero in zeros:
        result[index] = zero
    return result


def _round_part(
    name: str, part: int, bounded: BoundedValues, operands: list[Array], to: ElementType
) -> Array:
    """Return a part of the results, correctly rounded.

    `operands` are the parts of all operands as float64.
    """
    value, error = bounded
    result = round_to(value - error, to)
    undecided = to_bits(result) != to_bits(round_to(value + error, to))
    undecided &= error != 0  # so that -0 stays -0
    if to.bits == 64 and not HAS_EXTENDED:
        undecided[:] = True
    index = np.flatnonzero(undecided | np.isnan(value))
    if not index.size:
        return result
    some = [operand[index] for operand in operands]
    if name in ("multiply", "divide"):
        rows = list(zip(*(operand.tolist() for operand in some), strict=True))
        result[index] = _exact_part(name, part, rows, to)
        return result
    exact = round_certified(lambda *row: BALLS[name](*row)[part], some, to)
    # Balls represent -0 by underflow only; if a part is zero its sign is the value's.
    zero = (exact == 0) & (value[index] == 0) & np.signbit(value[index])
    result[index] = np.where(zero, value[index], exact)
    return result


def _parts(operands: tuple[Array, ...]) -> list[Array]:
    found: list[Array] = []
    for operand in operands:
        flat = operand.reshape(-1)
        found += [np.real(flat).astype(np.float64), np.imag(flat).astype(np.float64)]
    return found


def evaluate_complex(name: str, operands: tuple[Array, ...]) -> Array:
    """Return a function of complex arrays of one shape and type, in the same type.

    Args:
        name: a key of `FAST` or of `BALLS`.
        operands: complex64 or complex128 arrays.
    """
    to = element_type_of(operands[0]).part
    with np.errstate(all="ignore"):
        parts = _parts(operands)
        special = _mask_of_special(name, parts)
        result = np.empty((parts[0].size, 2), to.storage)
        if special.any():
            found = SPECIALS[name](*(part[special] for part in parts))
            regular = _regular(name, [part[~special] for part in parts], to)
            for part in (0, 1):
                result[special, part] = round_to(found[part], to)
                result[~special, part] = regular[part]
        else:
            result[:, 0], result[:, 1] = _regular(name, parts, to)
    return result.view(operands[0].dtype).reshape(operands[0].shape)


def _mask_of_special(name: str, parts: list[Array]) -> Array:
    """Return a mask of operands that are not finite, or at a pole or branch point."""
    special = ~np.isfinite(parts[0])
    for part in parts[1:]:
        special |= ~np.isfinite(part)
    x, y = parts[0], parts[1]
    if name in SINGULAR_AT_ZERO:
        special |= (x == 0) & (y == 0)
    elif FAST.get(name) is _log_plus_one:
        special |= (x == -1) & (y == 0)
    elif name in ("atanh", "atan"):
        pole, zero = (x, y) if name == "atanh" else (y, x)
        special |= (np.abs(pole) == 1) & (zero == 0)
    elif FAST.get(name) is _divide:
        special |= (parts[2] == 0) & (parts[3] == 0)
    elif name == "atan2":
        y1, y2, x1, x2 = parts
        special |= ((x1 == y2) & (x2 == -y1)) | ((x1 == -y2) & (x2 == y1))
        special |= (y2 == 0) & (x2 == 0) & (y1 == 0)
    return special


def _regular(name: str, parts: list[Array], to: ElementType) -> Parts:
    if not parts[0].size:
        return np.empty(0, to.storage), np.empty(0, to.storage)
    if name not in FAST:
        real = round_certified(lambda *row: BALLS[name](*row)[0], parts, to)
        imaginary = round_certified(lambda *row: BALLS[name](*row)[1], parts, to)
        if name in INVERSE_BALLS:  # balls have no -0
            signs = _signs_of_zero(name, *parts)
            real = np.where(real == 0, np.copysign(real, signs[0]), real)
            imaginary = np.where(imaginary == 0, np.copysign(imaginary, signs[1]), imaginary)
        return real, imaginary
    real, imaginary = FAST[name](*(part.astype(AVAILABLE.dtype) for part in parts))
    return _round_part(name, 0, real, parts, to), _round_part(name, 1, imaginary, parts, to)


def _signs_of_zero(name: str, x: Array, y: Array) -> Parts:
    """Return numbers with the signs of both parts of an inverse function where these are zero."""
    if name == "acos":
        return np.ones_like(x), -y
    return (np.ones_like(x), y) if name == "acosh" else (x, y)


def multiply(lhs: Array, rhs: Array) -> Array:
    """Return the complex product, each part correctly rounded from the exact ac - bd and ad + bc.

    Operands with infinities or NaNs give the results of those formulas in IEEE arithmetic; Annex
    G's recovery of infinities is not applied.
    """
    return evaluate_complex("multiply", (lhs, rhs))


def divide(lhs: Array, rhs: Array) -> Array:
    """Return the complex quotient, each part correctly rounded.

    Zero divisors and infinite operands follow the example of C23 Annex G.5.1: a zero divisor gives
    infinities, a finite dividend over an infinite divisor zeros.
    """
    return evaluate_complex("divide", (lhs, rhs))


def absolute(operand: Array) -> Array:
    """Return |z| of a complex array in its part type, correctly rounded (C's hypot)."""
    to = element_type_of(operand).part
    with np.errstate(all="ignore"):
        x, y = _parts((operand,))
        a, b = x.astype(AVAILABLE.dtype), y.astype(AVAILABLE.dtype)
        value = np.sqrt(a * a + b * b)
        value = np.where(np.isinf(x) | np.isinf(y), np.inf, value)
        result = round_to(value * (1 - value.dtype.type(4 * AVAILABLE.step)), to)
        high = round_to(value * (1 + value.dtype.type(4 * AVAILABLE.step)), to)
        undecided = (to_bits(result) != to_bits(high)) & np.isfinite(x) & np.isfinite(y)
        if to.bits == 64 and not HAS_EXTENDED:
            undecided |= np.isfinite(x) & np.isfinite(y)
        index = np.flatnonzero(undecided)
        if index.size:
            roots: list[tuple[int, int]] = []
            for row in zip(x[index].tolist(), y[index].tolist(), strict=True):
                (m, n), e = common(*row)
                roots.append(odd_root(m * m + n * n, 2 * e))
            result[index] = round_dyadic(roots, to)
    return result.reshape(operand.shape)


def wide_complex(name: str, *operands: Array) -> tuple[Array, Array]:
    """Return both parts before rounding, as longdouble; rounded parts without a fast formula."""
    with np.errstate(all="ignore"):
        if name not in FAST:
            result = evaluate_complex(name, operands)
            return np.real(result).astype(np.longdouble), np.imag(result).astype(np.longdouble)
        parts = [part.astype(AVAILABLE.dtype) for part in _parts(operands)]
        real, imaginary = FAST[name](*parts)
        shape = operands[0].shape
        return (
            real[0].astype(np.longdouble).reshape(shape),
            imaginary[0].astype(np.longdouble).reshape(shape),
        )

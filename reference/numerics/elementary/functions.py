"""Elementary functions, correctly rounded for every floating-point and complex type.

Ziv's test has up to three steps. The first is the platform's function in float64 (f32 and narrower)
or longdouble (f64), with an error bound far above its known errors. If the bounds of a value round
differently, the second is longdouble; if these do too, the third is ball arithmetic
(`reference.numerics.elementary.certified`). On platforms whose longdouble is float64, the last step
computes all of f64: the same results, slower.

Special values follow IEEE 754-2019 section 9.2.1 and C23 Annex F, for complex numbers Annex G.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import flint
import numpy as np

from reference.ir.types import Array, ElementType, element_type_of, from_bits, to_bits
from reference.numerics.elementary.certified import Exact, round_certified
from reference.numerics.elementary.complex_functions import (
    absolute,
    divide,
    evaluate_complex,
    multiply,
    wide_complex,
)
from reference.numerics.elementary.real_balls import clamped_ball, logistic_ball, power_ball
from reference.numerics.rounding import HAS_EXTENDED, round_to, to_float64

_ERROR_64 = 2.0**-47
"""Relative error allowed to numpy's float64 functions: 32 ulp, where 4 are documented."""
_ERROR_EXTENDED = 2.0**-59
"""Relative error allowed to the platform's longdouble functions: 16 ulp; glibc documents 4."""


__all__ = [
    "FUNCTIONS",
    "REAL",
    "Real",
    "absolute",
    "divide",
    "evaluate_real",
    "multiply",
    "round_with_error",
    "wide_complex",
    "wide_values",
]


@dataclass(frozen=True, slots=True)
class Real:
    """A real function: in numpy at any precision, in balls, and a test for inaccurate float64
    values.

    If not `extended`, numpy's function computes in float64 for any input. `monotonic` functions of
    one argument never change direction on one side of zero. Only arguments beyond a bound have no
    result there.
    """

    name: str
    fast: Callable[..., Array]
    exact: Exact
    doubtful: Callable[..., Array] | None = None
    extended: bool = True
    monotonic: bool = False


_monotonic = partial(Real, monotonic=True)


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


_erf = np.frompyfunc(math.erf, 1, 1)


def _error_function(x: Array) -> Array:
    return np.asarray(_erf(x)).astype(np.float64)


def _near_zero(y: Array, x: Array) -> Array:
    """Return a mask of sines that may have lost relative accuracy in the argument reduction."""
    return (np.abs(y) < 0.0625) & (np.abs(x) > 0.5)


def _near_zero_or_pole(y: Array, x: Array) -> Array:
    size = np.abs(y)
    return ((size < 0.0625) | (size > 16.0)) & (np.abs(x) > 0.5)


REAL: dict[str, Real] = {
    row.name: row
    for row in (
        Real("atan2", np.arctan2, lambda y, x: flint.arb.atan2(flint.arb(y), flint.arb(x))),
        _monotonic("cbrt", np.cbrt, lambda x: flint.arb(abs(x)).root(3) * math.copysign(1.0, x)),
        Real("cosine", np.cos, lambda x: flint.arb(x).cos(), _near_zero),
        _monotonic("exponential", np.exp, lambda x: clamped_ball(x, 2000.0).exp()),
        _monotonic("exponential_minus_one", np.expm1, lambda x: clamped_ball(x, 2000.0).expm1()),
        _monotonic("log", np.log, lambda x: flint.arb(x).log()),
        _monotonic("log_plus_one", np.log1p, lambda x: flint.arb(x).log1p()),
        _monotonic("logistic", _logistic, logistic_ball),
        Real("power", np.power, power_ball),
        _monotonic("rsqrt", _rsqrt, lambda x: flint.arb(x).rsqrt()),
        Real("sine", np.sin, lambda x: flint.arb(x).sin(), _near_zero),
        _monotonic("sqrt", np.sqrt, lambda x: flint.arb(x).sqrt()),
        Real("tan", np.tan, lambda x: flint.arb(x).tan(), _near_zero_or_pole),
        _monotonic("tanh", np.tanh, lambda x: clamped_ball(x, 100.0).tanh()),
        _monotonic("mhlo.cosh", np.cosh, lambda x: clamped_ball(x, 2000.0).cosh()),
        _monotonic(
            "mhlo.erf", _error_function, lambda x: clamped_ball(x, 100.0).erf(), extended=False
        ),
    )
}


def round_with_error(y: Array, relative: float, to: ElementType) -> tuple[Array, Array]:
    """Round y, which has a relative error, and return a mask of elements with undecided rounding.

    The rounding is undecided if two values within the error are rounded differently.
    """
    one, error = y.dtype.type(1), y.dtype.type(relative)  # in float64, 1 - 2^-59 would be 1
    low, high = round_to(y * (one - error), to), round_to(y * (one + error), to)
    return low, to_bits(low) != to_bits(high)


def evaluate_real(function: Real, operands: tuple[Array, ...], to: ElementType) -> Array:
    """Return a real function of arrays of one shape and floating-point type, correctly rounded."""
    if len(operands) == 1 and to.bits <= 16:
        return np.asarray(_table(function, to).take(to_bits(operands[0])))
    shape = operands[0].shape
    with np.errstate(all="ignore"):
        flat = tuple(to_float64(operand).reshape(-1) for operand in operands)
        return _round(function, flat, to).reshape(shape)


@cache
def _table(function: Real, to: ElementType) -> Array:
    """Return the function value of every code of a type with at most 16 bits."""
    codes = np.arange(1 << to.bits, dtype=np.uint32)
    values = to_float64(from_bits(codes, to))
    with np.errstate(all="ignore"):
        return _round(function, (values,), to)


def _round(function: Real, x: tuple[Array, ...], to: ElementType) -> Array:
    if to.bits == 64:
        return _round_64(function, x, to)
    y = function.fast(*x)
    result, undecided = round_with_error(y, _ERROR_64, to)
    if function.doubtful is not None:
        undecided |= function.doubtful(y, *x)
    if not to.float_format.has_zero:  # a positive value too small for float64 is not zero
        undecided &= y > 0
        result = np.where((y == 0) & (function.name == "power"), round_to(y + 1e-300, to), result)
    index = np.flatnonzero(undecided)
    if index.size:
        some = tuple(operand[index] for operand in x)
        result[index] = _round_extended(function, some, to)
    return result


def _round_64(function: Real, x: tuple[Array, ...], to: ElementType) -> Array:
    if HAS_EXTENDED and function.extended:
        return _round_extended(function, x, to)
    y = function.fast(*x)
    special = np.isnan(y)
    for operand in x:
        special |= ~np.isfinite(operand) | (operand == 0)
    if function.name == "log_plus_one":
        special |= x[0] == -1
    index = np.flatnonzero(~special)
    y[index] = round_certified(function.exact, [operand[index] for operand in x], to)
    return y


def _round_extended(function: Real, x: tuple[Array, ...], to: ElementType) -> Array:
    """Round in longdouble, then in balls; in balls only if there is no longdouble."""
    if not (HAS_EXTENDED and function.extended):
        return round_certified(function.exact, x, to)
    y = function.fast(*(operand.astype(np.longdouble) for operand in x))
    result, undecided = round_with_error(y, _ERROR_EXTENDED, to)
    index = np.flatnonzero(undecided)
    if index.size:
        result[index] = round_certified(function.exact, [operand[index] for operand in x], to)
    return result


def _operation(name: str) -> Callable[..., Array]:
    function = REAL[name]

    def operation(*operands: Array) -> Array:
        to = element_type_of(operands[0])
        if to.is_complex:
            return evaluate_complex(name, operands)
        return evaluate_real(function, operands, to)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of floating-point or complex arrays, correctly rounded."
    return operation


FUNCTIONS: dict[str, Callable[..., Array]] = {name: _operation(name) for name in REAL}
"""The functions by the mnemonic of their op: arrays of one type to an array of that type."""


atan2, exponential, log, log_plus_one, power, sqrt = (
    FUNCTIONS[name] for name in ("atan2", "exponential", "log", "log_plus_one", "power", "sqrt")
)


def wide_values(name: str, *operands: Array) -> Array:
    """Return values before rounding, as longdouble; for complex operands see `wide_complex`.

    For f64 operands at least 60 bits are correct if longdouble is wider than float64, else 53; for
    narrower operands at least 45.
    """
    function, of = REAL[name], element_type_of(operands[0])
    dtype = np.longdouble if of.bits == 64 or function.doubtful is not None else np.float64
    with np.errstate(all="ignore"):
        values = function.fast(*(to_float64(operand).astype(dtype) for operand in operands))
    return np.asarray(values).astype(np.longdouble)

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

from reference.ir.op import plain_name
from reference.ir.types import (
    ELEMENT_TYPES,
    Array,
    ElementType,
    element_type_of,
    from_bits,
    to_bits,
)
from reference.numerics.elementary import special_functions as special
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


_FEW = 4096
"""Number of values below which a table of a function that needs balls would cost more."""

_F64 = ELEMENT_TYPES["f64"]

__all__ = [
    "FUNCTIONS",
    "REAL",
    "Real",
    "absolute",
    "divide",
    "evaluate_real",
    "function_of",
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
    result there. `specials` has the values that neither `fast` nor `exact` computes. If
    `underflows`, a value of 0 may be a positive number that is too small for float64.
    """

    name: str
    fast: Callable[..., Array]
    exact: Exact
    doubtful: Callable[..., Array] | None = None
    extended: bool = True
    monotonic: bool = False
    specials: special.Specials | None = None
    underflows: bool = False

    def values(self, *operands: Array) -> Array:
        """Return values of `fast`, and of `specials` where it has any."""
        values = self.fast(*operands)
        if self.specials is None:
            return values
        mask, known = self.specials(*operands)
        return np.where(mask, known, values)


_monotonic = partial(Real, monotonic=True)
_special = partial(Real, extended=False)


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _near_zero(y: Array, x: Array) -> Array:
    """Return a mask of sines that may have lost relative accuracy in the argument reduction."""
    return (np.abs(y) < 0.0625) & (np.abs(x) > 0.5)


def _near_zero_or_pole(y: Array, x: Array) -> Array:
    size = np.abs(y)
    return ((size < 0.0625) | (size > 16.0)) & (np.abs(x) > 0.5)


REAL: dict[str, Real] = {
    row.name: row
    for row in (
        _monotonic("acos", np.arccos, lambda x: flint.arb(x).acos()),
        _monotonic("acosh", np.arccosh, lambda x: flint.arb(x).acosh()),
        _monotonic("asin", np.arcsin, lambda x: flint.arb(x).asin()),
        _monotonic("asinh", np.arcsinh, lambda x: flint.arb(x).asinh()),
        _monotonic("atan", np.arctan, lambda x: flint.arb(x).atan()),
        Real("atan2", np.arctan2, lambda y, x: flint.arb.atan2(flint.arb(y), flint.arb(x))),
        _monotonic("atanh", np.arctanh, lambda x: flint.arb(x).atanh()),
        _special("bessel_i1e", special.bessel_i1e, special.bessel_i1e_ball,
                 specials=special.bessel_i1e_specials),
        _monotonic("cbrt", np.cbrt, lambda x: flint.arb(abs(x)).root(3) * math.copysign(1.0, x)),
        _monotonic("cosh", np.cosh, lambda x: clamped_ball(x, 2000.0).cosh()),
        Real("cosine", np.cos, lambda x: flint.arb(x).cos(), _near_zero),
        _special("digamma", special.digamma, lambda x: flint.arb(x).digamma(),
                 special.is_digamma_doubtful, specials=special.digamma_specials),
        _monotonic("erf", special.erf, lambda x: clamped_ball(x, 100.0).erf(), extended=False),
        _monotonic("erf_inv", special.erf_inv, lambda x: flint.arb(x).erfinv(), extended=False,
                   specials=special.erf_inv_specials),
        _monotonic("erfc", special.erfc, lambda x: clamped_ball(x, 100.0).erfc(), extended=False,
                   underflows=True),
        _monotonic("exponential", np.exp, lambda x: clamped_ball(x, 2000.0).exp()),
        _monotonic("exponential_minus_one", np.expm1, lambda x: clamped_ball(x, 2000.0).expm1()),
        _special("lgamma", special.lgamma, special.lgamma_ball, special.is_lgamma_doubtful,
                 specials=special.lgamma_specials),
        _monotonic("log", np.log, lambda x: flint.arb(x).log()),
        _monotonic("log_plus_one", np.log1p, lambda x: flint.arb(x).log1p()),
        _monotonic("logistic", _logistic, logistic_ball),
        _special("polygamma",
                 special.certified_values(special.polygamma_ball, special.polygamma_specials),
                 special.polygamma_ball, specials=special.polygamma_specials, underflows=True),
        Real("power", np.power, power_ball, underflows=True),
        _monotonic("rsqrt", _rsqrt, lambda x: flint.arb(x).rsqrt()),
        Real("sine", np.sin, lambda x: flint.arb(x).sin(), _near_zero),
        _monotonic("sinh", np.sinh, lambda x: clamped_ball(x, 2000.0).sinh()),
        _monotonic("sqrt", np.sqrt, lambda x: flint.arb(x).sqrt()),
        Real("tan", np.tan, lambda x: flint.arb(x).tan(), _near_zero_or_pole),
        _monotonic("tanh", np.tanh, lambda x: clamped_ball(x, 100.0).tanh()),
        _special("zeta", special.certified_values(special.zeta_ball, special.zeta_specials),
                 special.zeta_ball, specials=special.zeta_specials, underflows=True),
    )
}  # fmt: skip
"""The functions by the names of their ops, without the dialect."""


def function_of(op: str) -> Real | None:
    """Return the real function that an op computes, in whatever dialect; None for other ops."""
    return REAL.get(plain_name(op))


def round_with_error(y: Array, relative: float, to: ElementType) -> tuple[Array, Array]:
    """Round y, which has a relative error, and return a mask of elements with undecided rounding.

    The rounding is undecided if two values within the error are rounded differently.
    """
    one, error = y.dtype.type(1), y.dtype.type(relative)  # in float64, 1 - 2^-59 would be 1
    low, high = round_to(y * (one - error), to), round_to(y * (one + error), to)
    return low, to_bits(low) != to_bits(high)


def evaluate_real(function: Real, operands: tuple[Array, ...], to: ElementType) -> Array:
    """Return a real function of arrays of one shape and floating-point type, correctly rounded."""
    costs_less = function.extended or to.bits <= 8 or operands[0].size >= _FEW
    if len(operands) == 1 and to.bits <= 16 and costs_less:
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
    y = function.values(*x)
    result, undecided = round_with_error(y, _ERROR_64, to)
    if function.doubtful is not None:
        undecided |= function.doubtful(y, *x)
    if function.specials is not None:
        undecided &= ~function.specials(*x)[0]
    if not to.float_format.has_zero:  # a positive value too small for float64 is not zero
        undecided &= y > 0
        result = np.where((y == 0) & function.underflows, round_to(y + 1e-300, to), result)
    index = np.flatnonzero(undecided)
    if index.size:
        some = tuple(operand[index] for operand in x)
        result[index] = _round_extended(function, some, to)
    return result


def _round_64(function: Real, x: tuple[Array, ...], to: ElementType) -> Array:
    if HAS_EXTENDED and function.extended:
        return _round_extended(function, x, to)
    if function.specials is not None:
        known, y = function.specials(*x)
    else:
        y = function.fast(*x)
        known = np.isnan(y) | (np.isinf(y) & (np.abs(x[0]) == 1))  # a pole, and no overflow
        for operand in x:
            known |= ~np.isfinite(operand) | (operand == 0)
    index = np.flatnonzero(~known)
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
    function, element_type = REAL[plain_name(name)], element_type_of(operands[0])
    dtype = (
        np.longdouble if element_type.bits == 64 or function.doubtful is not None else np.float64
    )
    if not function.extended:
        dtype = np.float64
    with np.errstate(all="ignore"):
        if not function.extended and (element_type.bits == 64 or function.doubtful is not None):
            doubles = tuple(to_float64(operand) for operand in operands)
            return evaluate_real(function, doubles, _F64).astype(np.longdouble)
        values = function.values(*(to_float64(operand).astype(dtype) for operand in operands))
    return np.asarray(values).astype(np.longdouble)

"""Operands for elementary functions, and the comparison of their results."""

from contextlib import contextmanager

import flint
import gmpy2
import mpmath
import numpy as np

from reference.ir.types import (
    bits_dtype,
    from_bits,
)
from reference.numerics.rounding import to_float64

BINARY = ("atan2", "polygamma", "power", "zeta")
NAN, INF = float("nan"), float("inf")


def mpfr_context(of):
    """Return MPFR rounding as an IEEE 754 format of these bits does, subnormals included."""
    form = of.float_format
    emin = form.min_exponent - form.mantissa_bits + 1
    return gmpy2.context(
        precision=form.precision, emax=form.max_exponent + 1, emin=emin, subnormalize=True
    )


def round_mpmath(value):
    """Return a number of mpmath rounded in the current context of MPFR."""
    if not mpmath.isfinite(value) or value == 0:
        return gmpy2.mpfr(float(value))
    sign, mantissa, exponent, _ = value._mpf_
    with gmpy2.context(precision=max(2, int(mantissa).bit_length()), emin=-(1 << 40), emax=1 << 40):
        exact = gmpy2.mpfr(int(mantissa))
        scale = gmpy2.mul_2exp if exponent >= 0 else gmpy2.div_2exp
        exact = scale(-exact if sign else exact, abs(exponent))
    return gmpy2.mpfr(exact)


def codes(of, count, seed):
    """Return random bit patterns."""
    bits = np.random.default_rng(seed).integers(0, 1 << of.bits, count, dtype=np.uint64)
    return to_float64(from_bits(bits.astype(bits_dtype(of)), of))


def assert_same(got, want, operands=()):
    """Return equal, or both NaN; and the same zeros."""
    wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    wrong |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    at = np.flatnonzero(wrong)[:5]
    shown = [[operand[i] for operand in operands] for i in at]
    assert not wrong.any(), f"{wrong.sum()} wrong, at {shown}: {got[at]}, not {want[at]}"


def exact_ball(value):
    """Return a longdouble as a ball."""
    high = float(value)
    with working_bits(200):
        return flint.arb(high) + flint.arb(float(value - type(value)(high)))


@contextmanager
def working_bits(bits):
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before

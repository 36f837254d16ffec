"""Unspecified results of complex arithmetic.

Spec, "Floating-point exceptions", leaves exceptions of complex arithmetic to the implementation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.op import plain_name
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics import arithmetic
from reference.unspecified.reasons import Unspecified


def complex_remainder(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return all remainders of complex numbers. Spec, "remainder": to be decided (#997)."""
    complex_ = element_type_of(operands[0]).is_complex
    return [("remainder of complex numbers", np.full(result.shape, complex_))]


def complex_sum(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return complex sums with overflow or inf - inf in a part.

    Spec, "Floating-point exceptions": complex addition is part by part, so finite parts and other
    infinities raise no exception.
    """
    if not element_type_of(result).is_complex:
        return []
    lhs, rhs = operands
    exception = np.zeros(result.shape, np.bool_)
    for part in (np.real, np.imag):
        left, right, got = part(lhs), part(rhs), part(result)
        overflow = np.isinf(got) & np.isfinite(left) & np.isfinite(right)
        invalid = np.isnan(got) & ~(np.isnan(left) | np.isnan(right))
        exception |= overflow | invalid
    return [("exception in complex arithmetic", exception)]


def complex_exception(
    operation: Operation, operands: Sequence[Array], result: Array
) -> list[Unspecified]:
    """Return complex results that are not finite, or that have an operand that is not finite.

    Spec, "Floating-point exceptions": some formula raises an overflow, a division by zero or an
    invalid operation. So does a power of zero, by its logarithm, and atan2 at its pole, lhs^2 +
    rhs^2 = 0.
    """
    if not element_type_of(operands[0]).is_complex:
        return []
    exception = ~np.isfinite(result)
    for operand in operands:
        exception = exception | ~np.isfinite(operand)
    if operation.name == "power":
        exception |= operands[0] == 0
    if operation.name == "atan2":
        lhs, rhs = operands
        exception |= (lhs == 1j * rhs) | (lhs == -1j * rhs)
    return [("exception in complex arithmetic", exception)]


def branch_cut(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return operands below the branch cut: real part negative, imaginary part -0.

    The specification only says "complex logarithm", "complex square root" and the like. On the
    negative real axis, the principal value is the limit from above. That an imaginary part of -0
    selects the lower side is C's convention (Annex G), which the spec only adopts for
    "log_plus_one", by atan2.
    """
    operand = operands[0]
    if not element_type_of(operand).is_complex:
        return []
    below = (np.real(operand) < 0) & (np.imag(operand) == 0) & np.signbit(np.imag(operand))
    return [("branch cut by the sign of zero", below)]


INVERSE_CUTS = ("acos", "acosh", "asin", "asinh", "atan", "atanh")
"""Functions with branch cuts that end at finite points other than 0."""


def inverse_cut(operation: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return operands on the branch cuts of inverse circular and hyperbolic functions.

    CHLO has formulas for real numbers only. It does not say which side of a cut is the function's
    value, or whether the sign of a zero part selects the side, as in C (Annex G).
    """
    operand, name = operands[0], plain_name(operation.name)
    if not element_type_of(operand).is_complex:
        return []
    along, across = np.real(operand), np.imag(operand)
    if name in ("asinh", "atan"):
        along, across = across, along
    beyond = along < 1 if name == "acosh" else np.abs(along) > 1
    return [("branch cut by the sign of zero", (across == 0) & beyond)]


def complex_abs(_: Operation, operands: Sequence[Array], result: Array) -> list[Unspecified]:
    """Return moduli that overflow, or of infinite numbers with a NaN part.

    Otherwise as `complex_exception`; but hypot is an operation of IEEE 754 (9.2) if no part is
    NaN: an infinity has an infinite modulus without exception.
    """
    operand = operands[0]
    if not element_type_of(operand).is_complex:
        return []
    infinite = np.isinf(np.real(operand)) | np.isinf(np.imag(operand))
    overflow = np.isinf(result) & np.isfinite(operand)
    return [("exception in complex arithmetic", overflow | (infinite & np.isnan(operand)))]


def complex_sign(_: Operation, operands: Sequence[Array], __: Array) -> list[Unspecified]:
    """Return signs of complex numbers with an infinite modulus, by which spec "sign" divides."""
    operand = operands[0]
    if not element_type_of(operand).is_complex:
        return []
    modulus = arithmetic.abs(operand)
    return [("exception in complex arithmetic", np.isinf(modulus) & ~np.isnan(operand))]

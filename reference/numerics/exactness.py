"""Masks of rounded results that are exact, from error-free transformations in float64.

Sources: Knuth, TwoSum; Dekker and Veltkamp, products (both in Muller et al., Handbook of
Floating-Point Arithmetic, chapter 4).
"""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64


def _to_float64_arrays(arrays: tuple[Array, ...]) -> list[Array]:
    return [to_float64(array) for array in arrays]


def _is_float(array: Array) -> bool:
    return element_type_of(array).is_float


def is_exact_sum(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of exact sums of floating-point or complex numbers."""
    return _is_signed_sum(operands[0], operands[1], result, 1.0)


def is_exact_difference(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of exact differences of floating-point or complex numbers."""
    return _is_signed_sum(operands[0], operands[1], result, -1.0)


def _is_signed_sum(lhs: Array, rhs: Array, result: Array, sign: float) -> Array:
    if not _is_float(result):
        real = _is_signed_sum(np.real(lhs), np.real(rhs), np.real(result), sign)
        return real & _is_signed_sum(np.imag(lhs), np.imag(rhs), np.imag(result), sign)
    return _is_sum(to_float64(lhs), sign * to_float64(rhs), to_float64(result))


def _is_sum(a: Array, b: Array, result: Array) -> Array:
    """Apply Knuth's TwoSum: the error of a sum in float64 is a float64, computed without
    rounding."""
    total = a + b
    shadow = total - a
    lost = (a - (total - shadow)) + (b - shadow)
    return (lost == 0) & (total == result)


def is_exact_product(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of exact products of floating-point or complex numbers."""
    if not _is_float(result):
        return _is_complex_product(operands, result)
    a, b = _to_float64_arrays(operands)
    return _is_product(a, b, to_float64(result))


def _is_product(a: Array, b: Array, product: Array) -> Array:
    """Apply Dekker's product in float64; False if the error term may underflow."""
    rounded = a * b
    (high, low), (top, rest) = _halves(a), _halves(b)
    lost = ((high * top - rounded) + high * rest + low * top) + low * rest
    tiny = (np.abs(rounded) < 2.0**-960) & (rounded != 0)
    return (lost == 0) & (rounded == product) & ~tiny | (a == 0) | (b == 0)


def _halves(a: Array) -> tuple[Array, Array]:
    spread = a * 134217729.0  # 2^27 + 1 (Veltkamp)
    high = spread - (spread - a)
    return high, a - high


def is_exact_quotient(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of exact quotients of floating-point numbers; always false for complex."""
    if not _is_float(result):
        return np.zeros(result.shape, np.bool_)
    a, b = _to_float64_arrays(operands)
    return _is_product(to_float64(result), b, a) | ~np.isfinite(to_float64(result)) | (a == 0)


def is_exact_square_root(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of exact square roots of floating-point numbers; always false for complex."""
    if not _is_float(result):
        return np.zeros(result.shape, np.bool_)
    root = to_float64(result)
    return _is_product(root, root, to_float64(operands[0]))


def is_exact_conversion(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of elements that a conversion did not change."""
    operand = operands[0]
    element_type, to = element_type_of(operand), element_type_of(result)
    if element_type.is_float and to.is_float:
        return np.asarray(to_float64(operand) == to_float64(result))
    if element_type.is_integer and to.is_float:
        return np.asarray(operand.astype(np.longdouble) == to_float64(result).astype(np.longdouble))
    if element_type.is_complex and to.is_complex:
        return np.asarray(operand.astype(np.complex128) == result.astype(np.complex128))
    return (
        np.zeros(result.shape, np.bool_)
        if to.bits < element_type.bits
        else np.ones(result.shape, bool)
    )


def _is_complex_product(operands: tuple[Array, ...], result: Array) -> Array:
    """Return a mask of complex products with no rounding in their products and sums."""
    storage = element_type_of(result).part.storage
    a, b, c, d = (part(array).astype(np.float64) for array in operands for part in _PARTS)
    exact = np.ones(result.shape, np.bool_)
    for left, right in ((a, c), (b, d), (a, d), (b, c)):
        product = (left * right).astype(storage).astype(np.float64)
        exact &= _is_product(left, right, product)
    exact &= _is_sum(a * c, -(b * d), np.real(result).astype(np.float64))
    return exact & _is_sum(a * d, b * c, np.imag(result).astype(np.float64))


_PARTS = (np.real, np.imag)


def is_always_exact(_: tuple[Array, ...], result: Array) -> Array:
    """Return true for all elements: remainders (IEEE 754-2019) and rounded integers are exact."""
    return np.ones(result.shape, np.bool_)


def is_exact_if_real(operands: tuple[Array, ...], result: Array) -> Array:
    """Return true for real operands and false for complex operands, whose results are rounded."""
    return np.full(result.shape, not element_type_of(operands[0]).is_complex)

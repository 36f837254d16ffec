"""Matrix products in more precision than the result has, the basis of contractions.

Floating-point numbers of at most 32 bits are multiplied exactly and added in float64. Numbers of 64
bits use extended precision, or, if there are many, are split into pieces with exact products and
sums in float64 (Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication", 2012). Complex numbers likewise; the sum is rounded once. Integers wrap modulo
2^bits of the result, and booleans are added by OR and multiplied by AND.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of, from_bits
from reference.numerics.arithmetic import quiet
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_to, to_float64

Multiply = Callable[[Array, Array], Array]
"""A function multiply(lhs, rhs): products of matrices of shapes (..., m, k) and (..., k, n)."""

_EXACT = float(1 << 53)
_BLAS_THRESHOLD = 1 << 14
"""Number of multiplications below which numpy's loops cost no more than preparing for BLAS."""

_PIECES_THRESHOLD = 1 << 19
"""Number of multiplications from which splitting f64 is faster than extended precision."""

_PIECES = 6
_F64 = ELEMENT_TYPES["f64"]


def to_wide_type(array: Array) -> Array:
    """Return the elements in the type of multiplication and addition.

    Integers become int64 (ui64 stays), booleans and floating-point numbers of at most 32 bits
    float64, longer numbers longdouble, complex numbers complex128 or clongdouble.
    """
    element_type = element_type_of(array)
    if element_type.is_complex:
        return array.astype(np.complex128 if element_type.part.bits == 32 else np.clongdouble)
    if element_type.is_float:
        return array.astype(np.longdouble) if element_type.bits == 64 else to_float64(array)
    if element_type.is_boolean:
        return array.astype(np.float64)
    return array if array.dtype == np.uint64 else array.astype(np.int64)


@quiet
def matmul(lhs: Array, rhs: Array, to: ElementType, *, boolean: bool = False) -> Array:
    """Return products of matrices, accumulated in `wide` types and rounded once to `to`.

    Args:
        lhs: matrices of wide elements, shape (..., m, k).
        rhs: matrices of wide elements, shape (..., k, n).
        to: the element type of the result.
        boolean: whether the wide elements represent i1.
    """
    if boolean:
        return convert_to(np.matmul(lhs, rhs) != 0, to)
    if lhs.dtype == rhs.dtype and lhs.dtype.kind in "iu":
        return _integer_products(lhs, rhs, to)
    return round_sums(add_initial_zero(unrounded_products(lhs, rhs)), to)


def add_initial_zero(total: Array) -> Array:
    """Add one init value, 0, as the specification's schedule permits: no sum is then -0."""
    return np.asarray(total + total.dtype.type(0))


def magnitudes(lhs: Array, rhs: Array) -> Array:
    """Return for every element of a product the sum of the magnitudes of its terms (float64)."""
    return np.matmul(np.abs(lhs).astype(np.float64), np.abs(rhs).astype(np.float64))


def round_sums(total: Array, to: ElementType) -> Array:
    """Return wide sums in a type: wrapped if both are integers, else rounded once."""
    if total.dtype.kind in "iu":
        return convert_to(total, to)
    if total.dtype.kind == "c":
        if to.is_complex:
            return total.astype(to.storage)
        total = np.real(total)
    if to.is_float:
        return round_to(total, to)
    return convert_to(round_to(total, _F64), to)


def unrounded_products(lhs: Array, rhs: Array) -> Array:
    """Return products of matrices of wide elements before rounding."""
    of = np.result_type(lhs, rhs)
    lhs, rhs = lhs.astype(of, copy=False), rhs.astype(of, copy=False)
    long = of == np.longdouble or of == np.clongdouble
    if of.kind != "c":
        return _long_products(lhs, rhs) if long else np.matmul(lhs, rhs)
    if long and lhs.size * rhs.shape[-1] < _PIECES_THRESHOLD:
        return _extended_products(lhs, rhs)
    if not long and np.isfinite(lhs).all() and np.isfinite(rhs).all():
        return np.matmul(lhs, rhs)
    return _complex_products(lhs, rhs, _long_products if long else np.matmul)


def _complex_products(lhs: Array, rhs: Array, multiply: Callable[[Array, Array], Array]) -> Array:
    """Return products of complex matrices from products of real matrices.

    BLAS multiplies by extra factors, and turns (inf, 1) times (1, 0) into (NaN, NaN).
    """
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    real = multiply(a, c) - multiply(b, d)
    product = np.empty(real.shape, lhs.dtype)
    product.real, product.imag = real, multiply(a, d) + multiply(b, c)
    return product


def _extended_products(lhs: Array, rhs: Array) -> Array:
    """Multiply with contiguous columns of rhs, along which numpy's loop runs."""
    columns = np.ascontiguousarray(np.swapaxes(rhs, -1, -2))
    return np.matmul(np.ascontiguousarray(lhs), np.swapaxes(columns, -1, -2))


def _long_products(lhs: Array, rhs: Array) -> Array:
    if lhs.size * rhs.shape[-1] < _PIECES_THRESHOLD:
        return _extended_products(lhs, rhs)
    bits = (53 - int(lhs.shape[-1]).bit_length()) // 2
    left = _pieces(lhs.astype(np.float64), bits, -1)
    right = _pieces(rhs.astype(np.float64), bits, -2)
    if left is None or right is None:
        return _extended_products(lhs, rhs)
    total = np.zeros((), np.longdouble)
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
    for i, j in sorted(pairs, key=sum, reverse=True):  # the smallest first
        total = total + np.matmul(left[i], right[j])
    return total


def _pieces(matrix: Array, bits: int, axis: int) -> list[Array] | None:
    """Return matrices that add up to this matrix, with `bits` significant bits per row (or column).

    Products of two such pieces are exact in float64, and so are sums along `axis`. None if the
    magnitudes along it differ too much for a few pieces.
    """
    largest = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
    if not (largest < 2.0**400).all() or (largest[largest != 0] < 2.0**-400).any():
        return None
    exponent = np.frexp(largest)[1]
    pieces: list[Array] = []
    while matrix.any():
        if len(pieces) == _PIECES:
            return None
        exponent = exponent - bits
        unit = np.ldexp(1.0, exponent)
        pieces.append(np.trunc(matrix / unit) * unit)
        matrix = matrix - pieces[-1]
    return pieces or [matrix]


def _integer_products(lhs: Array, rhs: Array, to: ElementType) -> Array:
    """Return products of 64-bit integer matrices, modulo 2^64 or rounded, depending on the
    result."""
    work = lhs.size * rhs.shape[-1]
    if to.is_integer and (work <= _BLAS_THRESHOLD or lhs.shape[-1] >= 1 << 20):
        return convert_to(np.matmul(lhs, rhs), to)
    if _largest_magnitude(lhs) * _largest_magnitude(rhs) * lhs.shape[-1] < _EXACT:
        product = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
        return convert_to(product.astype(np.int64), to)
    if to.is_integer:
        return from_bits(_limb_products(lhs, rhs, -(-to.bits // 16)), to)
    return round_sums(
        add_initial_zero(_extended_products(lhs.astype(np.longdouble), rhs.astype(np.longdouble))),
        to,
    )


def _limb_products(lhs: Array, rhs: Array, count: int) -> Array:
    """Return the low 16 * count bits of the products, from exact products of 16-bit pieces."""
    left, right = _limbs_of(lhs, count), _limbs_of(rhs, count)
    total = np.zeros((), np.uint64)
    for place in range(count):
        for i in range(place + 1):
            product = np.matmul(left[i], right[place - i]).astype(np.uint64)
            total = total + (product << np.uint64(16 * place))
    return total


def _limbs_of(array: Array, count: int) -> list[Array]:
    bits, low = array.view(np.uint64), np.uint64(0xFFFF)
    return [((bits >> np.uint64(16 * i)) & low).astype(np.float64) for i in range(count)]


def _largest_magnitude(array: Array) -> float:
    return max(float(array.max(initial=0)), -float(array.min(initial=0)))

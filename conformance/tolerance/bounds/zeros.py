"""Which zeros of sums of products may have either sign.

The specification adds up rounded products by `reduce` with an init value of +0, which may be left
out. So a sum of products that are all -0 may be +0 or -0, and any other that is zero is +0: of
products that are all zeros, or that cancel each other, fused or not, in whatever precision, as
long as none of them, and no sum, can come below the smallest number of its type. Padding of a
convolution is +0, whose product with a negative element of the kernel is -0.

Nothing decides the sign of a zero part of a product of complex numbers ("complex multiplication"):
a sum of these may have either. Of an `einsum` without sums, which no text defines any more, both
signs are right that `dot_general` gives, what StableHLO makes of it: a sum of one product. A
`unary_einsum` without sums moves data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    Depth,
    Summation,
    factors_of,
    precision_of,
    quantum_of,
    round_operands,
    underflow_error,
)
from conformance.tolerance.rule import EitherZero
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import wide
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.contraction import has_sums

Count = Callable[..., Array]
"""count(functions of the factors, padding=0.0): the sums of their products, as float64."""


def make_either_zero(summation: Summation, depth: Depth, default: DefaultPrecision) -> EitherZero:
    """The `either_zero` of a rule for sums of products."""

    def either_zero(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        (want,) = expected
        to, zero = element_type_of(want), is_zero(want)
        if not (to.is_float or to.is_complex) or not zero.any():
            return (None,)
        if _only_moves_data(operation) or not depth(operation, operands):
            return (None,)  # nothing but init values
        if not default.exact:
            return (zero,)
        operands = round_operands(operation, operands)
        factors = factors_of(operation, operands)

        def count(*functions: Array, padding: float = 0.0) -> Array:
            rest = operands[len(factors) :]
            given = tuple(one.astype(np.float64) for one in functions)
            return summation(operation, (*given, *rest), True, padding)

        if np.iscomplexobj(factors[0]):
            nothing, free = _complex_zero_masks(factors, count)
        else:
            nothing, free = _real_zero_masks(factors, count)
        free = np.where(nothing, free, _may_underflow(operation, operands, want, default))
        if to.is_complex and free.ndim == want.ndim:  # of real numbers: no imaginary parts
            free = np.stack([free, np.zeros_like(free)], axis=-1)
        elif free.ndim > zero.ndim:
            free = free[..., 0]
        return (zero & free,)

    return either_zero


def _only_moves_data(operation: Operation) -> bool:
    config = operation.attribute("einsum_config")
    return len(operation.operands) == 1 and not has_sums(str(config))


def _real_zero_masks(factors: tuple[Array, ...], count: Count) -> tuple[Array, Array]:
    """Which results add up nothing but zeros, and which nothing but -0 if so."""
    nothing = count(*(~is_zero(one) for one in factors)) == 0
    if not element_type_of(factors[0]).is_float:
        return nothing, np.zeros_like(nothing)  # integers have no -0
    negative = tuple(is_negative(one) for one in factors)
    others = count(*(~one for one in negative), padding=1.0)
    if len(factors) > 1:
        others = others + count(*negative)
    return nothing, others == 0


def _complex_zero_masks(factors: tuple[Array, ...], count: Count) -> tuple[Array, Array]:
    """The same part by part; products of parts that are zeros may have either sign."""
    real, imag = ([~is_zero(part(one)) for one in factors] for part in (np.real, np.imag))
    if len(factors) == 1:
        parts = [count(real[0]), count(imag[0])]
    else:
        parts = [
            count(real[0], real[1]) + count(imag[0], imag[1]),
            count(real[0], imag[1]) + count(imag[0], real[1]),
        ]
    nothing = np.stack(parts, axis=-1) == 0
    return nothing, nothing


def _may_underflow(
    operation: Operation, operands: tuple[Array, ...], want: Array, default: DefaultPrecision
) -> bool:
    """Whether some product or sum that is no zero may be rounded to one, of either sign."""
    to = element_type_of(want)
    precision = precision_of(operation, operands, to, default)
    if precision.operand_error:
        return True
    quantum, types = 1.0, [to, precision.of]
    for one in factors_of(operation, operands):
        size = np.abs(wide(one)).astype(np.float64)
        quantum *= quantum_of(size[np.isfinite(size)])
        types.append(element_type_of(one))
    return quantum < max(underflow_error(of) for of in types)

"""Signs of zero sums of products: the zeros that may have either sign.

The specification adds rounded products by `reduce` with an init value of +0, which an
implementation may omit. So a sum of products that are all -0 may be +0 or -0. Any other zero sum is
+0, whether its products are zeros or cancel, fused or not, in any precision, as long as no product
and no sum can underflow. Padding of a convolution is +0, whose product with a negative element of
the kernel is -0.

The sign of a zero part of a product of complex numbers is unspecified ("complex multiplication"),
so a sum of these may have either sign. The current text no longer defines `einsum`; an `einsum`
without sums may have the signs of `dot_general`, which StableHLO converts it to: a sum of one
product. A `unary_einsum` without sums moves data.
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
from reference.numerics.products import magnitudes, to_wide_type
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.contraction import has_sums

Count = Callable[..., Array]
"""A function count(functions of the factors, padding=0.0): the sums of their products, as float64.
"""


def make_either_zero(summation: Summation, depth: Depth, default: DefaultPrecision) -> EitherZero:
    """Return the `either_zero` of a rule for sums of products."""

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
            given = tuple(function.astype(np.float64) for function in functions)
            return summation(operation, (*given, *rest), magnitudes, padding)

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
    """Return masks of sums whose products are all zeros, and of those that may be all -0."""
    nothing = count(*(~is_zero(factor) for factor in factors)) == 0
    if not element_type_of(factors[0]).is_float:
        return nothing, np.zeros_like(nothing)  # integers have no -0
    negative = tuple(is_negative(factor) for factor in factors)
    others = count(*(~one for one in negative), padding=1.0)
    if len(factors) > 1:
        others = others + count(*negative)
    return nothing, others == 0


def _complex_zero_masks(factors: tuple[Array, ...], count: Count) -> tuple[Array, Array]:
    """Return the masks of `_real_zero_masks` by part; a zero part may have either sign."""
    real, imag = ([~is_zero(part(factor)) for factor in factors] for part in (np.real, np.imag))
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
    """Return whether some nonzero product or sum may round to a zero of either sign."""
    to = element_type_of(want)
    precision = precision_of(operation, operands, to, default)
    if precision.operand_error:
        return True
    quantum, types = 1.0, [to, precision.of]
    for one in factors_of(operation, operands):
        size = np.abs(to_wide_type(one)).astype(np.float64)
        quantum *= quantum_of(size[np.isfinite(size)])
        types.append(element_type_of(one))
    return quantum < max(underflow_error(of) for of in types)

"""Tolerance rule of reference/ops/xla/scaled.py: sums of products of scaled operands.

The decomposition that the op is defined with rounds an operand, its scales, and their products to
bf16, one after the other. A backend that implements the op directly need not round so. The bound is
the bound of a sum of products (conformance/tolerance/bounds/products.py). Its u_in adds the unit
roundoff of bf16 for each of these three arrays with an element that bf16 cannot represent. So a
scale that is a power of two costs nothing, and exact data is judged bit for bit.

jax documents f32 and bf16 as types of the sum. A sum requested in another type may be rounded to
bf16 first: XLA's page lets a backend accumulate in another type than the preferred type, and
convert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.tolerance.bounds.contraction import contraction_sums, depth_of
from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    Depth,
    Summation,
    make_bound,
    make_flush_loss,
    make_measure,
)
from conformance.tolerance.bounds.zeros import make_either_zero
from conformance.tolerance.rule import Measure, Rule
from reference.ir.program import Operation, TensorType, Value, tensor_of
from reference.ir.types import Array, ElementType, element_type
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.zeros import is_zero
from reference.ops.xla.contraction import dot_general_attributes
from reference.ops.xla.scaled import BF16, scale_operand

_F32 = element_type("f32")

RulePart = Callable[[Summation, Depth, DefaultPrecision], Callable[..., Any]]
"""A function make(summation, depth, default) that returns a part of the rule for sums of products.
"""


def as_dot_general(
    operation: Operation, operands: tuple[Array, ...]
) -> tuple[Operation, DefaultPrecision]:
    """Return the dot_general of the scaled operands, and the precision they may be rounded to."""
    lhs, lhs_scale, rhs, rhs_scale = operands
    values = tuple(
        Value(name, TensorType(of.shape, _F32)) for name, of in (("lhs", lhs), ("rhs", rhs))
    )
    given: dict[str, Any] = dict(operation.attributes)
    numbers = dot_general_attributes(given["dimension_numbers"])
    product = Operation("dot_general", values, operation.results, tuple(sorted(numbers.items())))
    rounded = _rounding_error(lhs, lhs_scale), _rounding_error(rhs, rhs_scale)
    intermediate = (
        0.0 if tensor_of(operation.results[0]).element in (BF16, _F32) else unit_roundoff(BF16)
    )
    return product, DefaultPrecision(
        operands=rounded, intermediate=intermediate, rounds_to_nearest=False
    )


def _rounding_error(operand: Array, scale: Array) -> float:
    """Return the unit roundoff of bf16 times the number of arrays that bf16 rounds."""
    numbers, factors = to_float64(operand), to_float64(scale)
    return unit_roundoff(BF16) * sum(
        map(_is_rounded, (numbers, factors, scale_operand(operand, scale)))
    )


def _is_rounded(numbers: Array) -> bool:
    """Return whether bf16 lacks any of these numbers that are in its range."""
    rounded = to_float64(round_to(numbers, BF16))
    return bool(((rounded != numbers) & np.isfinite(rounded)).any())


def factors_of(operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the operands times their scales in f32, with bf16's range and enough precision."""
    lhs, lhs_scale, rhs, rhs_scale = operands
    return tuple(
        round_to(scale_operand(*pair), _F32) for pair in ((lhs, lhs_scale), (rhs, rhs_scale))
    )


def scale_operands(make: RulePart) -> Callable[..., Any]:
    """Return a part of the sum-of-products rule, applied to the scaled operands."""

    def part(operation: Operation, operands: tuple[Array, ...], *results: Any) -> Any:
        product, default = as_dot_general(operation, operands)
        return make(contraction_sums, depth_of, default)(product, factors_of(operands), *results)

    return part


def _measure_in(sums: ElementType) -> Measure:
    """Return the measure of scaled products that are accumulated in a type."""

    def make(summation: Summation, depth: Depth, default: DefaultPrecision) -> Measure:
        return make_measure(summation, depth, replace(default, sums=sums), flushes=True)

    return scale_operands(make)


def _either_zero(
    operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Permit zeros of either sign where a scaled operand underflows in bf16, too."""
    lhs, lhs_scale, rhs, rhs_scale = operands
    least = BF16.float_format.smallest_normal
    sizes = (np.abs(scale_operand(*pair)) for pair in ((lhs, lhs_scale), (rhs, rhs_scale)))
    if any(((size < least) & (size > 0)).any() for size in sizes):
        return (is_zero(expected[0]),)
    return scale_operands(make_either_zero)(operation, operands, expected)


SCALED = Rule(
    "sum of scaled products",
    "as a sum of products of the scaled operands: exact data bit for bit; otherwise within "
    "u_out |e| + (2 u_in + gamma(n)(u_acc)) S, u_in being 2^-8 for each of operand, scale and "
    "scaled operand that bf16 does not hold; a sum that goes into another type than f32 and bf16 "
    "may be rounded to bf16 first",
    "the decomposition of jax.lax.scaled_dot, which rounds these to bf16; XLA operation semantics, "
    "DotGeneral, on preferred_element_type; TOSA conformance, DOT_PRODUCT; Higham, Accuracy and "
    "Stability, sections 3.1 and 3.5",
    rounds_operands=True,
    bound=scale_operands(make_bound),
    measure=scale_operands(make_measure),
    flush_loss=scale_operands(make_flush_loss),
    either_zero=_either_zero,
    measure_in=_measure_in,
)

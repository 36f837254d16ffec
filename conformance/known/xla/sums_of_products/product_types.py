"""Products computed in another type than the result's, with less precision or range.

XLA multiplies and adds in the "higher" of the operands' and the result's element types: the type
with more range, however few bits of precision it has, and of equal range the more precise one. So
f8E4M3FN operands lose a bit where the result is f8E5M2, f16 operands lose three where it is bf16,
and a result of f16 is one of bf16, converted, where the operands are bf16.

NVIDIA's instructions that convert to eight bits saturate (`cvt.rn.satfinite` of PTX): in f8E5M2
they give the largest number for infinity. Other types have an unspecified result there.

Source: xla/primitive_util.h, `HigherPrecisionType`; jaxlib 0.10.2 and 0.12.0, measured; the PTX of
kernels by Triton, and jaxlib 0.11.2 on an NVIDIA H200.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Operands, Results, Rewrite, exact_hypothesis
from conformance.tolerance.rule import Bound
from conformance.transforms.retype import with_element_type
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.conversion import convert_to

OPERANDS = "operands rounded to the result's type"
RESULT = "result rounded to the operands' type"
SATURATED = "largest number for an overflow"

_F32 = ELEMENT_TYPES["f32"]
_SATURATING = "f8E5M2"
"""The type with an infinity that PTX converts to."""


def round_operands(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the product of operands rounded to the result's type; None if it has their digits."""
    to = element_type_of(expected[0])
    if not _has_fewer_digits(to, element_type_of(operands[0])):
        return None
    rounded = (*(convert_to(one, to) for one in operands[:2]), *operands[2:])
    factors = tuple(with_element_type(value, to) for value in operation.operands[:2])
    return replace(operation, operands=(*factors, *operation.operands[2:])), rounded


def round_result(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the product in the operands' type; None if it has the result's digits.

    f8E8M0FNU has no zero: products are computed in it only if the result's type has less range.
    """
    of, to = element_type_of(operands[0]), element_type_of(expected[0])
    if not _has_fewer_digits(of, to):
        return None
    if (
        not of.float_format.has_zero
        and of.float_format.max_exponent <= to.float_format.max_exponent
    ):
        return None
    return replace(operation, results=(with_element_type(operation.results[0], of),)), operands


def _saturate(operation: Operation, operands: Operands, expected: Results) -> Results | None:
    """Return the product in f32, with the largest number of the stated type for larger ones."""
    to = element_type_of(expected[0])
    if to.name != _SATURATING:
        return None
    in_f32 = replace(operation, results=(with_element_type(operation.results[0], _F32),))
    (wide,) = apply(in_f32, operands)
    largest = to.float_format.max_finite
    limit = np.copysign(largest, wide).astype(to.storage)
    return (np.where(np.abs(wide) > largest, limit, expected[0]),)


def where_operands_have_more_range(rewrite: Rewrite) -> Rewrite:
    """Return the rewriting for operands with more range than the result, and no others.

    XLA's CPU compiler computes in the operands' type only there.
    """

    def rewritten(
        operation: Operation, operands: Operands, expected: Results
    ) -> tuple[Operation, Operands] | None:
        found = rewrite(operation, operands, expected)
        if found is None:
            return None
        of, to = (element_type_of(one).float_format for one in (operands[0], expected[0]))
        return found if of.max_exponent > to.max_exponent else None

    return rewritten


def where_result_has_more_range(rewrite: Rewrite) -> Rewrite:
    """Return the rewriting for a result with more range than the operands, and no others.

    XLA's CPU compiler rounds operands only there: f32 for f8E5M2 or bf16 it does not.
    """

    def rewritten(
        operation: Operation, operands: Operands, expected: Results
    ) -> tuple[Operation, Operands] | None:
        of, to = (element_type_of(one) for one in (operands[0], expected[0]))
        if not (of.is_float and to.is_float):
            return None
        has_more = to.float_format.max_exponent > of.float_format.max_exponent
        return rewrite(operation, operands, expected) if has_more else None

    return rewritten


OVERFLOWED = exact_hypothesis(SATURATED, _saturate)
"""The class of sums of products that a conversion to eight bits limits to the largest number."""


def bound_in_operands_type(bound: Bound) -> Bound:
    """Return the bound of a product in the operands' type, given the `bound` of sums of products.

    The bound of a sum in f8E8M0FNU would permit most numbers, as each term may be rounded to a
    power of two. XLA adds in f32 and rounds the sum once.
    """

    def errors(
        operation: Operation, operands: Operands, results: Results
    ) -> tuple[Array | None, ...]:
        if element_type_of(results[0]).float_format.has_zero:
            return bound(operation, operands, results)
        wide = replace(operation, results=(with_element_type(operation.results[0], _F32),))
        return bound(wide, operands, apply(wide, operands))

    return errors


def _has_fewer_digits(one: ElementType, other: ElementType) -> bool:
    if not (one.is_float and other.is_float):
        return False
    return one.float_format.precision < other.float_format.precision

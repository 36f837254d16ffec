"""Unspecified results of products of operands with scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import unrounded_products
from reference.numerics.rounding import round_to, to_float64
from reference.ops.contraction import arrange_matrices
from reference.ops.xla.contraction import dimensions_of
from reference.ops.xla.scaled import BF16, scale_operand
from reference.unspecified.contraction import no_zero
from reference.unspecified.formats import is_limited, not_encodable
from reference.unspecified.reasons import Reason, Unspecified


def _beyond_bf16(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return sums with scaled operands that bf16 cannot hold.

    The decomposition turns them into infinities, and the page does not say which type holds them.
    """
    del number
    lhs, lhs_scale, rhs, rhs_scale = operands
    beyond = [
        (np.isfinite(one) & np.isinf(to_float64(round_to(one, BF16)))).astype(np.float32)
        for one in (scale_operand(lhs, lhs_scale), scale_operand(rhs, rhs_scale))
    ]
    if not any(one.any() for one in beyond):
        return []
    given: Any = dict(operation.attributes)
    ones = [np.ones(one.shape, np.float32) for one in beyond]
    met = np.zeros(result.shape, np.bool_)
    for pair in ((beyond[0], ones[1]), (ones[0], beyond[1])):
        a, b, shape = arrange_matrices(*pair, dimensions_of(given["dimension_numbers"]))
        met |= np.matmul(a, b).reshape(shape) > 0
    return [("scaled operand beyond bf16", met)]


def _unencodable_sums(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return the sums that overflow a type without infinity, or are NaN in a type without NaN.

    No text defines the result: conversions to such types are unspecified, too.
    """
    del number
    if not is_limited(element_type_of(result)):
        return []
    lhs, lhs_scale, rhs, rhs_scale = operands
    given: Any = dict(operation.attributes)
    sides = scale_operand(lhs, lhs_scale), scale_operand(rhs, rhs_scale)
    a, b, shape = arrange_matrices(*sides, dimensions_of(given["dimension_numbers"]))
    return not_encodable(unrounded_products(a, b).reshape(shape), result)


REASONS: dict[str, tuple[Reason, ...]] = {"ScaledDot": (no_zero, _beyond_bf16, _unencodable_sums)}
"""The reasons by op."""

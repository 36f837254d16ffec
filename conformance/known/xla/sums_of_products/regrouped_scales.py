"""Products of two scaled operands whose constant factors are multiplied first.

XLA computes a sum of a single product as that product. Of (x * c) * (y * d), with constants c and
d, it makes (x * y) * (c * d) in f32, so that another product overflows or underflows.

Source: XLA's AlgebraicSimplifier; jaxlib 0.10.2 and 0.11.2, measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from conformance.known.rewritings.identities import REGROUPED
from conformance.tolerance.bounds.contraction import contraction_sums, depth_of
from conformance.tolerance.bounds.scaled import as_dot_general
from reference.ir.program import Operation
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.alike import flush_subnormals
from reference.numerics.products import round_sums
from reference.numerics.rounding import round_to, to_float64
from reference.ops.xla.scaled import spread

_F32 = element_type("f32")
_OPERANDS = ("lhs", "lhs_scale", "rhs", "rhs_scale")
_LEFT, _RIGHT = (0, 1), (2, 3)
"""Positions of both factors of a side."""


def _regroup(
    operation: Operation, operands: Operands, expected: Results, *, constants: tuple[int, int]
) -> Results | None:
    """Return the products of other factors times the products of constants."""
    dot, _ = as_dot_general(operation, operands)
    sides = (operands[0], operands[2])
    if depth_of(dot, sides) != 1:
        return None
    factors = [
        np.asarray(to_float64(spread(one, sides[number // 2].shape)))
        for number, one in enumerate(operands)
    ]
    others = (sum(_LEFT) - constants[0], sum(_RIGHT) - constants[1])
    with np.errstate(all="ignore"):
        fixed, given = (
            _round(contraction_sums(dot, (factors[left], factors[right]), False))
            for left, right in (constants, others)
        )
        result = flush_subnormals(np.asarray(flush_subnormals(given) * fixed))
    return (round_sums(to_float64(result), element_type_of(expected[0])),)


def _round(sums: Array) -> Array:
    return round_to(sums, _F32)


CLASSES = tuple(
    replace(
        exact_hypothesis(REGROUPED, partial(_regroup, constants=places)),
        constants=tuple(_OPERANDS[place] for place in places),
    )
    for places in product(_LEFT, _RIGHT)
)
"""The classes, by the constants."""

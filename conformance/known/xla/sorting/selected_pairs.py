"""TopK of f64 on a TPU, which compares numbers as pairs of f32.

Pairs are compared in total order, the larger number first. So two numbers with the same pair are
equal, and the number with the smaller index comes first. A negative number too small for f32
precedes -0: the first numbers of both pairs are -0, the second numbers are zeros of different sign.

Source: libtpu 0.0.50, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    equal_slices,
    predict_nothing,
    predict_slices,
)
from conformance.known.xla.pairs.float_pairs import LABEL
from conformance.known.xla.pairs.representation import round_to_pairs, split_into_pairs
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.comparison import total_order_key

_WORD = 32


def pair_ranks(array: Array) -> Array:
    """Return integers of 64 bits in the order in which pairs of f32 come."""
    high, low = map(total_order_key, split_into_pairs(array))
    return (high << _WORD) + low


def _errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for rows whose values and indices equal a selection of pairs, else infinity."""
    (operand,) = operands
    largest = operation.attribute("largest")
    if operand.dtype != np.float64 or largest is None:
        return predict_nothing(expected)
    ranks = pair_ranks(operand)
    order = np.argsort(~ranks if largest else ranks, axis=-1, kind="stable")
    count = expected[0].shape[-1]
    indices = order[..., :count].astype(expected[1].dtype)
    values = np.take_along_axis(operand, order[..., :count], axis=-1)
    return predict_slices(equal_slices((round_to_pairs(values), indices), actual), expected)


SELECTED = Hypothesis(LABEL, _errors, signs=True, ulps=_errors, represents=True)

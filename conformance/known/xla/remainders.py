"""Uniform integers in [a, b) that are remainders of random bits by b - a.

The first numbers of the range occur once more than the others; this is measurable where b - a is a
large part of all integers.

Source: xla/hlo/builder/lib/prng.cc; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_all,
    predict_nothing,
)
from conformance.tolerance.bounds.random import is_refuted
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.unspecified.random import is_undefined


def _remainders(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for all numbers if they are distributed as remainders and not uniformly, else
    infinity.
    """
    of, uniform = element_type_of(expected[0]), operation.attribute("rng_distribution") == "UNIFORM"
    if not of.is_integer or not uniform or is_undefined(operation, operands):
        return predict_nothing(expected)
    low, high = (int(one) for one in operands[:2])
    above = np.sort(actual[0].reshape(-1)).astype(object) - low
    if not above.size or above[0] < 0 or above[-1] >= high - low:
        return predict_nothing(expected)
    as_asked, as_remainders = (
        _can_be_remainders(above, high - low, total) for total in (high - low, 1 << of.bits)
    )
    return predict_all(expected, as_remainders and not as_asked)


def _can_be_remainders(above: Array, width: int, total: int) -> bool:
    """Return whether sorted integers may be remainders by `width` of integers below `total`."""
    quotient, rest = divmod(total, width)

    def probability_below(number: Array) -> Array:
        """Return the probability that a remainder is less than each number."""
        return ((number * quotient + np.minimum(number, rest)) / total).astype(np.float64)

    return not is_refuted(probability_below(above), probability_below(above + 1))


REMAINDERS = Hypothesis(
    "remainder of random bits", _remainders, signs=True, refutes=True, ulps=_remainders
)

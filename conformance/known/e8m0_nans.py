"""NaNs of f8E8M0FNU that LLVM converts to infinity.

StableHLO's interpreter converts all operands in this way, in regions too; XLA's CPU compiler
converts only constants.

Source: LLVM's APFloat (`convert`), before the LLVM of jaxlib 0.12.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS

LABEL = "NaN taken for infinity"

NAME = "f8E8M0FNU"
"""Name of the element type f8E8M0FNU."""


def _predict_powers_of_infinity(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return f(infinity) instead of f(NaN).

    f8E8M0FNU has no zero: a result of zero becomes the smallest number.
    """
    of = element_type_of(expected[0])
    if of.name != NAME:
        return None
    numbers = [to_float64(operand) for operand in operands]
    wide = [np.where(np.isnan(number), np.inf, number) for number in numbers]
    with np.errstate(all="ignore"):
        (result,) = (OPS[operation.name].evaluate(*wide),)
        least = np.where(result == 0, of.float_format.smallest, result)
    return (round_to(least, of),)


def _predict_converted_infinity(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    del expected
    if element_type_of(operands[0]).name != NAME:
        return None
    number = to_float64(operands[0])
    return apply(operation, (np.where(np.isnan(number), np.inf, number),))


CONVERTED = exact_hypothesis(LABEL, _predict_converted_infinity)
POWERS_OF_INFINITY = exact_hypothesis(LABEL, _predict_powers_of_infinity)

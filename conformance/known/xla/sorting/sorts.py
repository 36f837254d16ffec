"""Sorts that XLA skips, because their dimension is negative.

XLA reads the size of dimension -k from the k-th word before the sizes. The word just before them is
their number, so that a sort of dimension -1 is always done.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from typing import Any

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_all
from reference.ir.program import Operation
from reference.numerics.alike import equal_results

LABEL = "dimension counted from the last"


def _predict_unsorted(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 if all results equal the operands of a sort of a negative dimension, else
    infinity.
    """
    dimension = dict[str, Any](operation.attributes).get("dimension", -1)
    return predict_all(expected, dimension < -1 and equal_results(operands, actual))


UNSORTED = Hypothesis(LABEL, _predict_unsorted, signs=True, unsteady=True)

"""Fourier transforms computed as sums: one term per element, with the angle rounded in f64.

The angle 2 pi n k / N is as large as 2 pi N, and its rounding error grows with it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_where
from reference.ir.program import Operation

_ANGLE = 20 * 2.0**-53
"""Relative error of a term, to be multiplied by the length of the sum: the error of its angle, and
its share of the additions.
"""


def _measure(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    given: dict[str, Any] = dict(operation.attributes)
    kind, lengths = given["fft_type"], given["fft_length"]
    total = np.abs(operands[0]).sum(axis=tuple(range(-len(lengths), 0)), keepdims=True)
    if kind == "IRFFT":
        total = 2 * total
    if kind in ("IFFT", "IRFFT"):
        total = total / prod(lengths)
    with np.errstate(all="ignore"):
        near = np.abs(actual[0] - expected[0]) <= _ANGLE * sum(lengths) * total
        return predict_where(near)


DIRECT_SUM = Hypothesis("direct sum of a transform", _measure, signs=True)

"""Transforms of real numbers on GPUs: cuFFT computes two as one complex transform.

The numbers of two rows are real and imaginary parts. An error of one row's transform is relative to
the norm of both rows: a row of zeros has a transform of other numbers than zero.

Source: jaxlib 0.11.2 on an NVIDIA H200, for rows of 509 numbers.
"""

from __future__ import annotations

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.bounds.fft import fft_errors
from reference.ir.program import Operation

LABEL = "two transforms as one"


def _paired_transform_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return errors in units of the bound on transforms of two rows."""
    lengths = operation.attribute("fft_length")
    assert isinstance(lengths, tuple)
    if operation.attribute("fft_type") != "RFFT" or len(lengths) != 1:
        return predict_nothing(expected)
    return fft_errors(operation, operands, expected, actual, in_pairs=True)


PAIRED = Hypothesis(LABEL, _paired_transform_errors)
"""The class of transforms whose errors are within the bound for two rows."""

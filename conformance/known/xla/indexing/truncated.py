"""64-bit indices that are truncated to their low 32 bits.

The TPU's compiler splits 64-bit integers into two words. Slices, gathers and scatters read only the
low word of an index, as a signed integer.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from conformance.known.interpreter.indices import index_positions
from conformance.known.xla.pairs.representation import round_to_pairs
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements

LABEL = "index truncated to 32 bits"
"""The class of results with truncated indices."""

_WIDTH = 64
"""Number of bits of the indices that are split."""


def _low_words(index: Array) -> Array:
    return index.astype(np.int32).astype(index.dtype)


def _predict_truncated_indices(
    operation: Operation, operands: Operands, expected: Results
) -> Results | None:
    """Return the results with truncated indices; None if truncation changes no index."""
    del expected
    numbers = index_positions(operation)
    wide = [number for number in numbers if element_type_of(operands[number]).bits == _WIDTH]
    if all(np.array_equal(_low_words(operands[n]), operands[n]) for n in wide):
        return None
    others = [_low_words(one) if n in wide else one for n, one in enumerate(operands)]
    return apply(operation, others)


def _equal_as_pairs(other: Array, got: Array) -> Array:
    """Return a mask of elements that are equal as f64 numbers or as pairs of f32."""
    return equal_elements(other, got) | equal_elements(round_to_pairs(other), got)


TRUNCATED = exact_hypothesis(LABEL, _predict_truncated_indices, equal=_equal_as_pairs)
"""The class of results by the low words of indices."""

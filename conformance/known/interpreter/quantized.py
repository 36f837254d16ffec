"""Differences of code and zero point, which a pass of StableHLO computes in 32 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from reference.ir.program import Operation, QuantizedType, TensorType
from reference.ir.types import Array, element_type
from reference.ops.quantization import dequantize


def _predict_wrapped_difference(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return results computed with the difference of code and zero point wrapped to 32 bits."""
    del expected
    (codes,), of = operands, operation.operands[0].type
    kind = of.element_type if isinstance(of, TensorType) else None
    if not isinstance(kind, QuantizedType) or kind.quantization_dimension is not None:
        return None
    (zero,) = kind.zero_points
    wrapped = (codes.astype(np.int64) - zero).astype(np.int32)
    storage = element_type("si32")
    whole = replace(kind, storage_type=storage, zero_points=(0,))
    return (dequantize(wrapped, whole),)


WRAPPED = exact_hypothesis("zero point subtracted in 32 bits", _predict_wrapped_difference)

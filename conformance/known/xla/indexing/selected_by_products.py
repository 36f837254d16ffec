"""Rows selected by a product with an array of ones and zeros.

The compiler for TPUs writes gathers of some rows so. The other rows are multiplied by 0: a selected
-0 becomes +0, and infinities and NaN among the other rows become NaN.

Source: libtpu 0.0.50, measured on the modules that it rewrites gathers to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64

LABEL = "selected by a product"


def _selected_dimensions(operation: Operation, operands: tuple[Array, ...]) -> Sequence[int]:
    """Return the dimensions of an operand that indices select from, whole slices aside."""
    given: dict[str, Any] = dict(operation.attributes)
    if "dim" in given:
        return (given["dim"] % operands[0].ndim,)
    dimensions: tuple[int, ...] = tuple(given.get("start_index_map", ()))
    sizes: tuple[int, ...] = tuple(given.get("slice_sizes", operands[-1]))
    return dimensions if sizes and all(sizes[one] == 1 for one in dimensions) else ()


def _predict_sum(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the selected rows plus 0 times the other rows; None for types without infinities."""
    operand, *rest = operands
    of, dimensions = element_type_of(operand), _selected_dimensions(operation, operands)
    if not of.is_float or not dimensions:
        return None
    is_bad = ~np.isfinite(to_float64(operand))
    count = is_bad.sum(axis=tuple(dimensions), keepdims=True) - is_bad
    (spoilt,) = apply(operation, ((count > 0).astype(operand.dtype), *rest))
    zero = np.zeros((), operand.dtype)
    result = np.where(expected[0] == zero, zero, expected[0])
    return (np.where(spoilt != zero, np.full((), np.nan, operand.dtype), result),)


SELECTED = exact_hypothesis(LABEL, _predict_sum)

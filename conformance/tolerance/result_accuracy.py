"""Tolerance rules from `result_accuracy`, the accuracy that an operation states itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.tolerance.rule import Rule
from reference.ir.accuracy import TOLERANCE, ResultAccuracy
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64, ulp_size

_ROUNDED = 1.0
"""Rounding error in ulp: half for the backend's result, half for the reference's."""


def apply_result_accuracy(operation: Operation, rule: Rule) -> Rule:
    """Return the rule for the tolerance that an operation states, or the given `rule`."""
    accuracy = operation.attribute("result_accuracy")
    if not isinstance(accuracy, ResultAccuracy) or accuracy.mode != TOLERANCE:
        return rule
    text = (
        f"within {accuracy.atol:g} + {accuracy.rtol:g} |result| + {accuracy.ulps} ulp, as it states"
    )
    source = "StableHLO, result_accuracy: what the program itself asks for"
    return replace(
        rule, name="stated accuracy", text=text, source=source, ulps=None, bound=_bound, formulas=()
    )


def _bound(
    operation: Operation, _: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    accuracy = operation.attribute("result_accuracy")
    assert isinstance(accuracy, ResultAccuracy)
    return tuple(_permitted_error(accuracy, result) for result in expected)


def _permitted_error(accuracy: ResultAccuracy, expected: Array) -> Array:
    """Return the largest permitted absolute error; for complex results of the larger part."""
    element_type = element_type_of(expected)
    if element_type.is_complex:
        size = np.maximum(np.abs(np.real(expected)), np.abs(np.imag(expected)))
        size, part = size.astype(np.float64), element_type.part
    else:
        size, part = np.abs(to_float64(expected)), element_type
    size = np.where(np.isfinite(size), size, 0.0)
    unit = ulp_size(size.astype(np.longdouble), part).astype(np.float64)
    return accuracy.atol + accuracy.rtol * size + (accuracy.ulps + _ROUNDED) * unit

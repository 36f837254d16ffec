"""Windows of one element over a dilated dimension, whose dilation is ignored.

XLA's CPU hands large reductions by windows that do not overlap to YNNPACK, and forgets the base
dilation of dimensions whose window is 1. The result has too few elements: they stand at the
beginning of its memory, and unknown contents follow. Its maxima and minima ignore NaN.

Source: https://github.com/openxla/xla/issues/48714; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.bounds.reduction import reduction_bound
from conformance.tolerance.ulp import bound_units_from_prediction
from reference.interpreter.evaluate import apply, reshape_operation
from reference.ir.program import Dense, Operation
from reference.ir.regions import monoid_of
from reference.ir.types import Array
from reference.numerics.contributions import count_windows
from reference.numerics.rounding import to_float64

LABEL = "dilation left out"


def _refute_undilated(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    other = _remove_dilation(operation, operands[0].shape)
    if other is None:
        return predict_nothing(expected)
    results = apply(other, operands)
    limits = reduction_bound(other, operands, results)
    without_nan = apply(other, _omit_nan(other, operands))
    return tuple(map(_error, results, without_nan, limits, actual))


UNDILATED = Hypothesis(LABEL, _refute_undilated, signs=True, unsteady=True)


def _remove_dilation(operation: Operation, sizes: tuple[int, ...]) -> Operation | None:
    """Return the operation without the dilation that is ignored, or None."""
    given: dict[str, Any] = dict(operation.attributes)
    dilations, ones = given.get("base_dilations"), (1,) * len(sizes)
    if operation.name != "reduce_window" or dilations is None:
        return None
    window = given["window_dimensions"]
    kept = tuple(  # a single element has no holes beside it
        1 if window_size == 1 and size > 1 else by
        for size, window_size, by in zip(sizes, window, dilations, strict=True)
    )
    if kept == dilations:
        return None
    padding = given.get("padding")
    pairs = padding.array.tolist() if isinstance(padding, Dense) else [(0, 0)] * len(sizes)
    rows = zip(
        sizes, window, given.get("window_strides", ones), kept,
        given.get("window_dilations", ones), map(tuple, pairs), strict=True,
    )  # fmt: skip
    shape = tuple(count_windows(*row) for row in rows)
    return reshape_operation(operation.with_attributes(base_dilations=kept), shape)


def _omit_nan(operation: Operation, operands: Operands) -> Operands:
    """Return the operands of a maximum or minimum with init values in place of NaN."""
    monoid, count = monoid_of(operation.regions[0]), len(operands) // 2
    if monoid is None or not monoid.extremum:
        return operands
    pairs = zip(operands[:count], operands[count:], strict=True)
    return (*(np.where(np.isnan(to_float64(x)), init, x) for x, init in pairs), *operands[count:])


def _error(result: Array, without_nan: Array, limit: Array | None, got: Array) -> Array:
    """Return errors against the smaller result, with or without NaN, with unknown elements behind
    it.

    Elements behind the smaller result have no error if the smaller result is as predicted, else an
    infinite error.
    """
    count = min(result.size, got.size)
    have, errors = got.reshape(-1)[:count], np.zeros(got.size)
    kept = None if limit is None else limit.reshape(-1)[:count]
    errors[:count] = np.minimum(
        *(
            bound_units_from_prediction(want.reshape(-1)[:count], have, kept)
            for want in (result, without_nan)
        )
    )
    if (errors > 1).any():
        errors[count:] = np.inf
    return errors.reshape(got.shape)

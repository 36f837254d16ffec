"""Complex numbers ordered by their real parts only.

XLA compares them so for extrema and comparisons: numbers with equal real parts are equal. An
extremum is then either of them. A comparison with NaN is false, and the extremum is the second
operand. Subnormal real parts, and subnormal parts of the extremum, may be flushed to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.known.hypothesis import Operands, Results, predict_where, value_hypothesis
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals

LABEL = "order by the real part alone"

_BY_DIRECTION = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}
_STRICT = {"maximum": np.greater, "minimum": np.less}
_LOOSE = {"maximum": np.greater_equal, "minimum": np.less_equal}


def _measure(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for each element that an order by the real part alone may give, else infinity."""
    found = np.zeros(expected[0].shape, np.bool_)
    if element_type_of(operands[-1]).is_complex:
        for other in _possible_results(operation, operands):
            found |= _is_same(other, actual[0])
    return predict_where(found)


def _is_same(other: Array, got: Array) -> Array:
    """Return a mask of elements whose parts are all equal, except flushed subnormal parts."""
    if not element_type_of(got).is_complex:
        return equal_elements(other, got)
    parts = ((np.array(part(side)) for side in (other, got)) for part in (np.real, np.imag))
    same = (
        equal_elements(one, it) | equal_elements(flush_subnormals(one), it) for one, it in parts
    )
    return np.logical_and.reduce(list(same))


def _possible_results(operation: Operation, operands: tuple[Array, ...]) -> Iterator[Array]:
    """Yield possible results; each element may come from any of them."""
    for flushes in (False, True):
        if operation.name == "compare":
            given: dict[str, Any] = dict(operation.attributes)
            by = _BY_DIRECTION.get(given["comparison_direction"])
            if by is not None:  # equality looks at both parts
                lhs, rhs = (_real_part(operand, flushes=flushes) for operand in operands)
                yield by(lhs, rhs)
        elif operation.name == "clamp":
            low, operand, high = np.broadcast_arrays(*operands)
            for raised in _extrema("maximum", operand, low, flushes=flushes):
                yield from _extrema("minimum", raised, high, flushes=flushes)
        else:
            yield from _extrema(operation.name, *operands, flushes=flushes)


def _extrema(name: str, lhs: Array, rhs: Array, *, flushes: bool) -> Iterator[Array]:
    """Return both choices between elements whose real parts are equal."""
    left, right = (_real_part(operand, flushes=flushes) for operand in (lhs, rhs))
    for after in (_STRICT[name], _LOOSE[name]):
        yield np.where(after(left, right), lhs, rhs)


def _real_part(operand: Array, *, flushes: bool) -> Array:
    real = np.array(np.real(operand))  # contiguous, and of rank 0 if it is
    return flush_subnormals(real) if flushes else real


BY_REAL_PART = value_hypothesis(LABEL, _measure)

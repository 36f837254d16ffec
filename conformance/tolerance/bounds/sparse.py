"""Tolerance rule of products with sparse matrices (reference/custom_calls/sparse.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    make_bound,
    make_flush_loss,
    make_measure,
)
from conformance.tolerance.bounds.zeros import make_either_zero
from conformance.tolerance.rule import Rule
from reference.custom_calls.sparse import sums_of_rows
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import Multiply

Part = Callable[..., Any]
"""A part of a rule: a function part(operation, operands, results, ...)."""


def _sums(_: Operation, operands: tuple[Array, ...], multiply: Multiply, __: float = 0.0) -> Array:
    values, dense, indptr, indices = operands
    return sums_of_rows(values, dense, indptr, indices, multiply)


def _depth(_: Operation, operands: tuple[Array, ...]) -> int:
    return int(np.diff(operands[2]).max(initial=0))


def _factors_first(part: Part) -> Part:
    """Return a part of the rule for operands in the order of the call."""

    def apply(operation: Operation, operands: tuple[Array, ...], *results: Any) -> Any:
        values, indptr, indices, dense = operands
        return part(operation, (values, dense, indptr, indices), *results)

    return apply


_PARTS = (_sums, _depth, DefaultPrecision())

STORED = Rule(
    "sum of stored products",
    "as a sum of products, over the elements that the sparse matrix stores: exact data bit for "
    "bit; otherwise within u_out |e| + gamma(n)(u_acc) S; 0 where S is 0; integers modulo 2^bits",
    "TOSA conformance, DOT_PRODUCT; Higham, Accuracy and Stability, sections 3.1 and 3.5",
    bound=_factors_first(make_bound(*_PARTS)),
    measure=_factors_first(make_measure(*_PARTS)),
    flush_loss=_factors_first(make_flush_loss(*_PARTS)),
    either_zero=_factors_first(make_either_zero(*_PARTS)),
)

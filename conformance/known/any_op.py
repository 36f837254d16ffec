"""Hypotheses about any operation."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from conformance.known.broadcasting import broadcast_operands
from conformance.known.hypothesis import (
    Operands,
    Results,
    predict_nothing,
    predict_where,
    value_hypothesis,
)
from conformance.known.in_f32 import is_narrow, to_f32, to_narrow_type
from conformance.tolerance.ulp import ulp_distances
from conformance.transforms.retype import retype
from reference.interpreter.evaluate import apply
from reference.ir.op import Rounding, Structure
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS

_F64 = ELEMENT_TYPES["f64"]

_DETOURS = (np.float32, np.float16, ml_dtypes.bfloat16)
"""Types in which backends compute narrower types, which rounds results twice."""


def _exact_results(operation: Operation, operands: Operands, result: Array) -> Array | None:
    """Return the exact real results as float64 (long double for integers), where that type
    represents them.
    """
    record = OPS.get(operation.name)
    if record is None or not element_type_of(result).is_float:
        return None
    if not operands and record.structure is Structure.COMPUTES:  # an iota
        return apply(retype(operation, {element_type_of(result): _F64}), ())[0]
    given = broadcast_operands(operation, operands, result.shape)
    if given is None or record.unrounded is None or record.is_sign_only:
        return None
    if len(given) == 1 and element_type_of(given[0]).is_integer:
        return given[0].astype(np.longdouble)
    is_wide = element_type_of(result).name == "f64"
    if is_wide or not all(element_type_of(one).is_float for one in given):
        return given[0] if _is_whole(operation) else None
    return record.unrounded(*map(to_float64, given))


def _is_whole(operation: Operation) -> bool:
    """Return whether the op rounds to whole numbers, so that its results are exact."""
    record = OPS[operation.name]
    return record.rounding is Rounding.EXACT and record.unrounded is np.positive


def _are_neighbours(wanted: Array, got: Array) -> Array:
    """Return a mask of the elements that are equal or adjacent by number."""
    return ulp_distances(wanted.reshape(-1), got.reshape(-1)).reshape(got.shape) <= 1


def _ties(operation: Operation, operands: Operands, expected: Results, actual: Results) -> Results:
    """Return 0 where a tie is rounded the wrong way, else infinity."""
    exact = _exact_results(operation, operands, expected[0])
    if exact is None:
        return predict_nothing(expected)
    want, got = to_float64(expected[0]), to_float64(actual[0])
    tie = (want - exact == exact - got) & (want != got) & np.isfinite(exact)
    is_close = _is_whole(operation) | _are_neighbours(expected[0], actual[0])
    return predict_where(tie & is_close)


def _predict_double_rounding(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 where the exact result was first rounded to a wider type, else infinity."""
    exact = _exact_results(operation, operands, expected[0])
    if exact is None:
        return predict_nothing(expected)
    element_type, found = element_type_of(expected[0]), np.zeros(expected[0].shape, np.bool_)
    for detour in _DETOURS:
        if np.dtype(detour).itemsize * 8 > element_type.bits:
            twice = round_to(exact.astype(detour).astype(np.float64), element_type)
            found |= equal_elements(twice, actual[0])
    return predict_where(found & _are_neighbours(expected[0], actual[0]))


def _predict_reciprocal_product(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 where a quotient is the product with the rounded reciprocal, else infinity.

    The reciprocal of a divisor near the largest number may be flushed, in narrow types in f32.
    """
    record = OPS.get(operation.name)
    if record is None or record.unrounded is not np.divide:
        return predict_nothing(expected)
    if not element_type_of(expected[0]).is_float:
        return predict_nothing(expected)
    lhs, rhs = operands
    multiply = OPS["multiply"].evaluate
    reciprocal = record.evaluate(np.ones(rhs.shape, rhs.dtype), rhs)
    products = [multiply(lhs, one) for one in (reciprocal, flush_subnormals(reciprocal))]
    if is_narrow(element_type := element_type_of(rhs)):
        in_f32 = flush_subnormals(to_f32(reciprocal))
        products.append(to_narrow_type(multiply(to_f32(lhs), in_f32), element_type))
    return predict_where(
        np.logical_or.reduce([equal_elements(product, actual[0]) for product in products])
    )


HYPOTHESES = (
    value_hypothesis("reciprocal", _predict_reciprocal_product),
    value_hypothesis("tie rounding", _ties),
    value_hypothesis("double rounding", _predict_double_rounding),
)
"""The hypotheses that apply to every op."""

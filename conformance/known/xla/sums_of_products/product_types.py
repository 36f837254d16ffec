"""Products computed in another type than the result's, with less precision or range.

XLA multiplies and adds in the "higher" of the operands' and the result's element types: the type
with more range, however few bits of precision it has. So f8E4M3FN operands lose a bit where the
result is f8E5M2, f16 operands lose three where it is bf16, and a result of f16 is one of bf16,
converted, where the operands are bf16.

Source: xla/primitive_util.h, `HigherPrecisionType`; jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.rule import Bound, Measure
from conformance.tolerance.ulp import bound_units_from_prediction, ulps_from_prediction
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.conversion import convert_to

OPERANDS = "operands rounded to the result's type"
RESULT = "result rounded to the operands' type"

Other = Callable[[Operation, tuple[Array, ...], ElementType, ElementType], tuple[Array, Array]]
"""A function other(operation, operands, their type, result type): results of the other computation,
and their largest errors.
"""


def result_type_hypothesis(bound: Bound) -> Hypothesis:
    """Return the hypothesis of products whose operands are rounded to a result of less precision.

    `bound` gives the largest permitted errors of a product.
    """

    def compute_in_type(
        operation: Operation, operands: tuple[Array, ...], _: ElementType, to: ElementType
    ) -> tuple[Array, Array]:
        rounded = (*(convert_to(one, to) for one in operands[:2]), *operands[2:])
        factors = tuple(_retype(value, to) for value in operation.operands[:2])
        changed = replace(operation, operands=(*factors, *operation.operands[2:]))
        return _compute_with_bound(changed, rounded, bound)

    return _hypothesis(OPERANDS, compute_in_type, narrows=True)


def in_operand_type(bound: Bound) -> Hypothesis:
    """Return the hypothesis of products that are rounded to operands of less precision first."""

    def compute_in_type(
        operation: Operation, operands: tuple[Array, ...], of: ElementType, to: ElementType
    ) -> tuple[Array, Array]:
        changed = replace(operation, results=(_retype(operation.results[0], of),))
        product, limit = _compute_with_bound(changed, operands, bound)
        return convert_to(product, to), limit

    return _hypothesis(RESULT, compute_in_type, narrows=False)


def _compute_with_bound(
    operation: Operation, operands: tuple[Array, ...], bound: Bound
) -> tuple[Array, Array]:
    results = apply(operation, operands)
    (limit,) = bound(operation, operands, results)
    assert limit is not None
    return results[0], limit


Distances = Callable[[Array, Array, Array], Array]
"""A function distances(predicted results, bound, actual results): the errors of the elements."""


def _hypothesis(label: str, other: Other, *, narrows: bool) -> Hypothesis:
    """Return the hypothesis of results with less precision or (`narrows`) more."""

    def in_bounds(predicted: Array, limit: Array, got: Array) -> Array:
        return bound_units_from_prediction(predicted, got, limit)

    def in_ulps(predicted: Array, _: Array, got: Array) -> Array:
        return ulps_from_prediction(predicted, got)

    measures = (_measure(other, one, narrows=narrows) for one in (in_bounds, in_ulps))
    measure, ulps = measures
    return Hypothesis(label, measure, ulps=ulps)


def _measure(other: Other, distances: Distances, *, narrows: bool) -> Measure:
    """Return the function that measures results with less precision or (`narrows`) more."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        (right,), (got,) = expected, actual
        to, of = element_type_of(right), element_type_of(operands[0])
        if (
            not (to.is_float and of.is_float)
            or _is_narrower(to, of) != narrows
            or _has_same_precision(to, of)
        ):
            return predict_nothing(expected)
        want, limit = other(operation, operands, of, to)
        return (distances(want, limit, got),)

    return measure


def _is_narrower(one: ElementType, other: ElementType) -> bool:
    return one.float_format.precision < other.float_format.precision


def _has_same_precision(one: ElementType, other: ElementType) -> bool:
    return one.float_format.precision == other.float_format.precision


def _retype(value: Value, to: ElementType) -> Value:
    assert isinstance(value.type, TensorType)
    return replace(value, type=replace(value.type, element_type=to))

"""Tolerance rules of quantized ops: the codes that numbers near the exact results round to.

An implementation may compute on numbers or on integers (chapter "Execution semantics of quantized
operation"). On integers it rounds at other steps: StableHLO's interpreter converts both operands of
`add` to the scale of the result first. So a result that is not a code before rounding may be one
code off, as in fixed-point arithmetic (gemmlowp, TFLite's reference kernels). It may be further off
only where the numbers that it may come from, rounded differently at each step, are further apart.

A result that is a code, computed without rounding, must be equal. So must conversions, whose
arithmetic the specification defines, except for codes of other numbers within their rounding
errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from conformance.tolerance.rule import Rule
from conformance.transforms.values import nested_operations
from reference.interpreter import quantized
from reference.interpreter.evaluate import apply
from reference.ir.op import QuantizedUse, Rounding, Structure
from reference.ir.program import Operation, QuantizedType, TensorType, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.ops.quantization import rounded_scales, shape_per_axis
from reference.ops.table import OPS

_TEXT = (
    "within one code, or within the codes of numbers that the op's own tolerance permits on "
    "operands rounded up or down; bit for bit where the result is a code without any rounding, "
    "and where elements are only moved"
)
_SOURCE = (
    "StableHLO specification, execution semantics of quantized operations (left to the "
    "implementation) and dequantize_op_quantize"
)

MAX_COMBINED_OPERANDS = 3
"""Operands rounded up and down in every combination; more are rounded all in one direction."""


@cache
def quantized_rule(rule: Rule) -> Rule:
    """Return the rule for an op on quantized tensors, given its rule on numbers."""
    bound, excludes = partial(_bounds, rule), partial(_excludes, rule)
    return Rule(
        "quantized",
        _TEXT,
        _SOURCE,
        bound=bound,
        permits=_permits,
        excludes=excludes,
    )


def _bounds(
    rule: Rule, operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
) -> tuple[Array | None, ...]:
    """Return the permitted errors of each element, in codes; of numbers absolute."""
    if not quantized.computes_on_numbers(operation):
        return tuple(_body_bound(operation, operands, result) for result in expected)
    if rule.is_backward:
        return tuple(np.ones(result.shape) for result in expected)
    found: list[Array | None] = []
    for result, reach in zip(
        expected, permitted_results(rule, operation, operands, expected), strict=True
    ):
        if isinstance(reach, tuple):
            codes = result.astype(np.float64)
            found.append(np.maximum(codes - reach[0], reach[1] - codes))
        else:
            found.append(reach)
    return tuple(found)


def _excludes(
    rule: Rule,
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> tuple[Sequence[tuple[str, Array]], ...]:
    """Mark wrong codes that lie on one side of the reference's code, no further from it than a
    permitted code on the other side.
    """
    if not quantized.computes_on_numbers(operation) or rule.is_backward:
        return ((),) * len(expected)
    found: list[Sequence[tuple[str, Array]]] = []
    reaches = permitted_results(rule, operation, operands, expected)
    for want, got, reach in zip(expected, actual, reaches, strict=True):
        if not isinstance(reach, tuple):
            found.append(())
            continue
        codes, right = got.astype(np.float64), want.astype(np.float64)
        near = np.abs(codes - right) <= np.maximum(right - reach[0], reach[1] - right)
        found.append([("wrong value", near & ((codes < reach[0]) | (codes > reach[1])))])
    return tuple(found)


def permitted_results(
    rule: Rule,
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    *,
    roundings: int = 2,
) -> list[tuple[Array, Array] | Array | None]:
    """Return, for each result, the first and last permitted code, or a number's permitted error.

    `roundings` is the number of roundings in `quantize`: 2, for its quotient and its sum.
    """
    around = _neighbour_results(operation, operands, rule.rounds_operands)
    plain, numbers = (
        quantized.plain_operation(operation),
        tuple(quantized.decode_operands(operation, operands)),
    )
    errors = _errors(rule, plain, numbers, around[0])
    brought = numbers if OPS[operation.name].rescales else ()
    found: list[tuple[Array, Array] | Array | None] = []
    for k, of in enumerate(quantized.element_types(operation)[1]):
        results = [one[k] for one in around]
        if of is None:
            found.append(_number_error(results, errors[k]))
        elif OPS[operation.name].quantized is QuantizedUse.CONVERTS:
            found.append(_code_range(results, errors[k], of, expected[k], roundings))
        else:
            codes = _code_range(results, errors[k], of, expected[k], roundings)
            found.append(_integer_code_range(results, errors[k], of, codes, brought))
    return found


def _permits(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],  # noqa: ARG001 - the form of `Permits`
) -> tuple[Array | None, ...]:
    """Mark comparisons of numbers so near that their rounding decides: either result is right."""
    truth = [element_type_of(result).is_boolean for result in expected]
    if not all(truth) or not quantized.computes_on_numbers(operation):
        return (None,) * len(expected)
    first, *others = (one[0] for one in _neighbour_results(operation, operands))
    return (np.logical_or.reduce([np.zeros(first.shape, bool), *(first != o for o in others)]),)


def _body_bound(operation: Operation, operands: tuple[Array, ...], result: Array) -> Array | None:
    """Return the error in codes of folding with a body: one rounding for each application."""
    bodies = [*nested_operations(operation)]
    if not element_type_of(result).is_integer or not any(map(_rounds_codes, bodies)):
        return None
    record = OPS[operation.name]
    if record.rounding is Rounding.MOVES and record.structure is not Structure.STARTS:
        return None
    elements = max((operand.size for operand in operands), default=0)
    applied = len(bodies) if operation.name == "map" else max(elements, 1)
    return np.full(result.shape, float(applied))


def _rounds_codes(operation: Operation) -> bool:
    """Return whether an operation of a body may compute new codes."""
    results = [value.type for value in operation.results if isinstance(value.type, TensorType)]
    if all(kind.stored.is_boolean for kind in results):
        return False
    return OPS[operation.name].rounding is not Rounding.MOVES


def _neighbour_results(
    operation: Operation, operands: tuple[Array, ...], rounds_operands: bool = False
) -> list[tuple[Array, ...]]:
    """Return results on the numbers of the operands, then on numbers that differ from these by a
    rounding.
    """
    plain = quantized.plain_operation(operation)
    numbers = quantized.decode_operands(operation, operands)
    found = [apply(plain, numbers)]
    if rounds_operands:
        return found
    given = zip(operation.operands, operands, numbers, strict=True)
    moves = [_neighbours(value, codes, number) for value, codes, number in given]
    if all(len(ends) == 1 for ends in moves):
        return found
    if len(moves) > MAX_COMBINED_OPERANDS:
        both = ([ends[0] for ends in moves], [ends[-1] for ends in moves])
        return found + [apply(plain, one) for one in both]
    return found + [apply(plain, list(one)) for one in itertools.product(*moves)]


def _neighbours(value: Value, codes: Array, numbers: Array) -> list[Array]:
    """Return numbers one rounding below and above the numbers of codes; the numbers if exact."""
    of = getattr(value.type, "element_type", None)
    if not isinstance(of, QuantizedType):
        return [numbers]
    zeros = shape_per_axis(np.array(of.zero_points, np.float64), of, codes.ndim)
    scales = to_float64(rounded_scales(of, codes.ndim))
    exact = (codes.astype(np.float64) - zeros) * scales
    wide, to = to_float64(numbers), of.expressed_type
    inexact = exact != wide  # products of a few bits by 24 are exact in float64
    if not inexact.any():
        return [numbers]
    step = np.where(inexact, ulp_size(np.abs(wide), to), 0.0)
    return [round_to(wide - step, to), round_to(wide + step, to)]


def _errors(
    rule: Rule, plain: Operation, numbers: tuple[Array, ...], results: tuple[Array, ...]
) -> list[Array]:
    """Return the absolute errors of the op itself, by the rule for numbers."""
    if rule.bound is not None:
        bounds = rule.bound(plain, numbers, results)
        return [
            np.zeros(result.shape) if bound is None else np.asarray(bound)
            for bound, result in zip(bounds, results, strict=True)
        ]
    if rule.measure is not None:
        return [_measured_errors(rule, plain, numbers, results)]
    return [_ulp_errors(rule, plain, numbers, result) for result in results]


def _measured_errors(
    rule: Rule, plain: Operation, numbers: tuple[Array, ...], results: tuple[Array, ...]
) -> Array:
    """Return the permitted errors of a rule with a proportional measure.

    They are derived from the measure of a large error.
    """
    assert rule.measure is not None
    (result,) = results
    element_type = element_type_of(result)
    wide = to_float64(result)
    off = round_to(wide + np.maximum(np.abs(wide), 1.0), element_type)
    (units,) = rule.measure(plain, numbers, results, (off,))
    error = np.abs(to_float64(off) - wide) / units
    return np.where(np.isfinite(error), error, 0.0)


def _ulp_errors(rule: Rule, plain: Operation, numbers: tuple[Array, ...], result: Array) -> Array:
    element_type = element_type_of(result)
    if not element_type.is_float:
        return np.zeros(result.shape)
    budget = 0.0 if rule.ulps is None else rule.ulps.budget(element_type, "cpu")
    record = OPS[plain.name]
    if record.rounding in (Rounding.CORRECT, Rounding.ACCUMULATES):
        budget = max(budget, 0.5)
    error = budget * ulp_size(np.abs(to_float64(result)), element_type)
    if record.unrounded is not None and len(numbers) > 1:
        wide = (to_float64(number).astype(np.longdouble) for number in numbers)
        with np.errstate(all="ignore"):
            error = np.where(record.unrounded(*wide) == to_float64(result), 0.0, error)
    return np.where(np.isfinite(error), error, 0.0)


def _range_of_results(around: Sequence[Array], error: Array) -> tuple[Array, Array]:
    wide = [to_float64(one) for one in around]
    return np.minimum.reduce(wide) - error, np.maximum.reduce(wide) + error


def _number_error(around: Sequence[Array], error: Array) -> Array | None:
    """Return the permitted error of a result that is not quantized."""
    if not element_type_of(around[0]).is_float:
        return None
    low, high = _range_of_results(around, error)
    middle = to_float64(around[0])
    off = np.maximum(middle - low, high - middle)
    return np.where(np.isfinite(off), off, 0.0)


def _code_range(
    around: Sequence[Array],
    error: Array,
    quantized_type: QuantizedType,
    expected: Array,
    roundings: int,
) -> tuple[Array, Array]:
    """Return the first and the last code of the numbers within the errors."""
    scales, zeros = _scales_and_zeros(quantized_type, expected.ndim)
    low, high = _range_of_results(around, error)
    slack = roundings * _rounding_in_codes(to_float64(around[0]), scales, zeros, quantized_type)
    first, last = (
        np.rint(
            np.clip(
                one / scales + zeros + off, quantized_type.storage_min, quantized_type.storage_max
            )
        )
        for one, off in ((low, -slack), (high, slack))
    )
    codes = expected.astype(np.float64)
    return np.fmin(first, codes), np.fmax(last, codes)  # NaN has no code: the code of 0 stays


def _integer_code_range(
    around: Sequence[Array],
    error: Array,
    quantized_type: QuantizedType,
    codes: tuple[Array, Array],
    brought: Sequence[Array],
) -> tuple[Array, Array]:
    """Return `codes` extended by the next codes, unless the op is exact on integers."""
    scales, zeros = _scales_and_zeros(quantized_type, codes[0].ndim)
    low, high = (result / scales + zeros for result in _range_of_results(around, error))
    whole = (low == high) & (low == np.rint(low))
    for number in brought:
        quotient = to_float64(number) / scales
        whole &= quotient == np.rint(quotient)
    ends = (quantized_type.storage_min, quantized_type.storage_max)
    below = np.clip(np.where(whole, low, np.ceil(low - 1)), *ends)
    above = np.clip(np.where(whole, high, np.floor(high + 1)), *ends)
    return np.fmin(below, codes[0]), np.fmax(above, codes[1])


def _scales_and_zeros(quantized_type: QuantizedType, rank: int) -> tuple[Array, Array]:
    scales = to_float64(rounded_scales(quantized_type, rank))
    return scales, shape_per_axis(
        np.array(quantized_type.zero_points, np.float64), quantized_type, rank
    )


def _rounding_in_codes(
    numbers: Array, scales: Array, zeros: Array, quantized_type: QuantizedType
) -> Array:
    """Return the error, in codes, of rounding the quotient or the sum in `quantize`."""
    to = quantized_type.expressed_type
    quotient = numbers / scales
    first = to_float64(round_to(quotient, to))
    second = to_float64(round_to(first + zeros, to))
    exact = (first * scales == numbers) & (second == first + zeros)
    unit = 2.0**-to.float_format.precision
    size = np.where(np.isfinite(quotient), np.abs(quotient), 0.0) + np.abs(zeros)
    return np.where(exact, 0.0, unit * size)


QUANTIZED = quantized_rule(Rule("conversion", "bit for bit", _SOURCE))
"""Rule of `uniform_quantize` and `uniform_dequantize`, which only convert."""

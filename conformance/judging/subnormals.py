"""Elements that are explained by subnormal numbers treated as zero."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from conformance.judging.differences import DifferingElements
from conformance.judging.questions import Answer, Predicted, exact_match
from conformance.known import in_f32
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.ulp import part_distances
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, apply, reshape_operation
from reference.ir.op import Rounding
from reference.ir.types import Array
from reference.numerics.alike import different_bits, equal_elements, flush_subnormals
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_mask


def find_flushed(d: DifferingElements) -> Answer:
    """Yield elements explained by flushed results, operands, or comparisons.

    Comparisons come first where they explain all elements: an element out of order may look like a
    flushed element.
    """
    if d.platform == Hardware.INTERPRETER:  # the interpreter flushes nothing
        return
    results = (
        Verdict.FLUSHED,
        "flushed: results",
        *_match_flushed(d, d.want, _is_flushed(d, d.want)),
    )
    if d.operand_elements is None:
        compared = (
            Verdict.FLUSHED,
            "flushed: operands of comparisons",
            *exact_match(d.has_flushed_order),
        )
        yield from (compared, results) if compared[2].all() else (results, compared)
        yield from _find_flushed_operands(d)
        return
    yield results
    flushed = [flush_subnormals(array) for array in d.operand_elements]
    touched = [i for i, new in enumerate(flushed) if new is not d.operand_elements[i]]
    for count in range(1, len(touched) + 1):
        for chosen in itertools.combinations(touched, count):
            other = d.evaluate_operation(
                flushed[i] if i in chosen else a for i, a in enumerate(d.operand_elements)
            )
            affected = np.zeros(len(d.where), bool)
            for i in chosen:
                affected |= different_bits(flushed[i], d.operand_elements[i])
            explained = d.is_near(other) & _has_same_zero_sign(d, other) | _is_flushed(d, other)
            if d.type.is_complex:  # log(0) and the like are unspecified
                explained |= _is_unspecified_for(d, chosen, flushed, other)
            explained &= affected
            yield Verdict.FLUSHED, "flushed: operands", *_match_flushed(d, other, explained)
    yield Verdict.FLUSHED, "flushed: operands of comparisons", *exact_match(d.has_flushed_order)


def _match_flushed(d: DifferingElements, other: Array, mask: Array) -> tuple[Array, Predicted]:
    """Return a mask with a prediction: `other`, or zero where `other` is subnormal."""
    near, zero = d.prediction(other), d.prediction(flush_subnormals(other))
    return mask, lambda: near() | zero()


def _find_flushed_operands(d: DifferingElements) -> Answer:
    """Yield elements explained by flushing all operands, for ops that are not elementwise."""
    if not all(isinstance(operand, np.ndarray) for operand in d.operands):
        return
    flushed = [flush_subnormals(operand) for operand in d.operands]
    if all(new is old for new, old in zip(flushed, d.operands, strict=True)):
        return
    try:
        results = apply(d.operation, flushed)
    except EvaluationError:
        return
    other = results[d.number].reshape(-1)[d.where]
    alike = d.is_same(other) | _is_flushed(d, other)
    if d.type.is_float:
        alike |= (d.wide[1] == 0) & (to_float64(other) == 0) & ~_is_moved_zero(d)
    if d.rule.permits is not None and d.results:
        seen = tuple(flush_subnormals(array) for array in d.results)
        right = d.rule.permits(d.operation, tuple(flushed), results, seen)[d.number]
        alike |= False if right is None else right.reshape(-1)[d.where]
    alike |= d.bound_errors(other) <= 1
    alike &= d.has_permitted_zeros | _has_permitted_zeros(d, flushed, results)
    alike &= _are_all_parts_equal(d, results[d.number])
    yield Verdict.FLUSHED, "flushed: operands", *_match_flushed(d, other, alike)


def _are_all_parts_equal(d: DifferingElements, other: Array) -> Array:
    """Return a mask of the elements that equal `other` in all parts of their operand's number.

    The parts are the elements of the last dimension if a number's bits are divided among several
    elements. A flushed number has no part of an unflushed number.
    """
    if d.record is None or not d.record.is_bitcast or d.expected.shape[:-1] != d.operands[0].shape:
        return np.ones(len(d.where), np.bool_)
    same = equal_elements(d.actual, other).all(axis=-1, keepdims=True)
    return np.broadcast_to(same, d.expected.shape).reshape(-1)[d.where]


def _is_moved_zero(d: DifferingElements) -> Array:
    """Return the mask of zeros that an operation only moves. Flushing keeps their signs."""
    record = OPS.get(d.operation.name)
    moves = record is not None and record.rounding is Rounding.MOVES
    return (d.wide[0] == 0) & moves


def _has_permitted_zeros(
    d: DifferingElements, operands: list[Array], results: tuple[Array, ...]
) -> Array:
    """Return a mask of elements without a zero of the wrong sign.

    The right signs are the signs of the results on flushed operands.
    """
    if d.rule.either_zero is None:
        return np.ones(len(d.where), np.bool_)
    either = d.rule.either_zero(d.operation, tuple(operands), results)[d.number]
    answers = replace(d.answers, either_zero=either)
    return replace(d, expected=results[d.number], answers=answers).has_permitted_zeros


def _is_unspecified_for(
    d: DifferingElements, chosen: tuple[int, ...], flushed: list[Array], other: Array
) -> Array:
    """Return a mask of elements that are unspecified once the chosen operands are flushed."""
    operands = [
        flushed[i] if i in chosen else array for i, array in enumerate(d.operand_elements or ())
    ]
    return unspecified_mask(d.operation, operands, other)


def _is_flushed(d: DifferingElements, other: Array) -> Array:
    """Return a mask of elements that are zero where `other` is subnormal.

    Rounding may come before or after the test for tininess, so the smallest normal number counts as
    subnormal. A complex part may be a sum of products, each of which may be flushed; the rest is
    zero or a normal number.
    """
    if not (d.type.is_float or d.type.is_complex) or not d.type.float_format.has_zero:
        return np.zeros(len(d.where), bool)
    smallest = d.type.float_format.smallest_normal
    if d.type.is_complex:
        errors = part_distances(other, d.got)
        right = [error <= (d.budget or 0) for error in errors]
        nans = [np.isnan(part(other)) & np.isnan(part(d.got)) for part in (np.real, np.imag)]
        if not d.budget:  # an exact result loses nothing beside a large part
            parts = ((part(other), part(d.got)) for part in (np.real, np.imag))
            right = [one & (want == got) for one, (want, got) in zip(right, parts, strict=True)]
        right = [one | nan for one, nan in zip(right, nans, strict=True)]
        lost = [_is_remainder(d, part(other), part(d.got)) for part in (np.real, np.imag)]
        either = [a | b for a, b in zip(right, lost, strict=True)]
        if (
            d.is_bounded
        ):  # budgets are in units of the bound then, and one ulp may be all that is lost
            gone = [
                small & (part(other) != part(d.got))
                for small, part in zip(lost, (np.real, np.imag), strict=True)
            ]
            return either[0] & either[1] & (gone[0] | gone[1])
        return either[0] & either[1] & ~(right[0] & right[1])
    want, got = to_float64(other), d.wide[1]
    lost = (np.abs(want) <= smallest) & (want != 0) & (got == 0)
    return lost if d.is_bounded else lost & (np.signbit(want) == np.signbit(got))


def _has_same_zero_sign(d: DifferingElements, other: Array) -> Array:
    """Return a mask of elements without a zero of another sign than `other`.

    Flushing keeps the sign. Complex parts that are sums of products may have either sign.
    """
    wrong = is_zero(other) & is_zero(d.got) & (is_negative(other) != is_negative(d.got))
    if d.type.is_complex:
        return ~wrong.any(axis=-1) | _is_sum_of_products(d)
    return ~wrong


def _is_sum_of_products(d: DifferingElements) -> bool:
    return d.record is None or d.record.multiplies


def _is_remainder(d: DifferingElements, other: Array, got: Array) -> Array:
    """Return a mask of complex parts that remain after subnormal products are flushed."""
    smallest = d.type.float_format.smallest_normal
    gone = (np.abs(other) <= smallest) & (got == 0)
    if not _is_sum_of_products(d):
        return gone & (np.signbit(other) == np.signbit(got))
    left = (got == 0) | (np.abs(got) >= smallest)
    return left & (np.abs(other - got) <= 2 * smallest)


def find_flushed_in_f32(d: DifferingElements) -> Answer:
    """Yield elements explained by f32 arithmetic that flushes numbers normal in the narrow type.

    No subnormal number of the type itself is flushed, so the results are divergent.
    """
    if d.platform == Hardware.INTERPRETER or not in_f32.may_flush(d.operands, (d.expected,)):
        return
    if d.operand_elements is None:
        operation, operands, place, where = d.operation, d.operands, d.number, d.where
    else:
        operation, operands = reshape_operation(d.operation, d.where.shape), d.operand_elements
        place, where = 0, np.arange(len(d.where))
    try:
        for results in in_f32.flushed_results(operation, operands):
            other = results[place].reshape(-1)[where]
            explained = d.is_near(other) | (d.bound_errors(other) <= 1)
            yield Verdict.DIVERGENT, in_f32.LABEL, explained, d.prediction(other)
    except EvaluationError:
        return

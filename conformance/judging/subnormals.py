"""Elements that are explained by subnormal numbers taken for zeros."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from conformance.judging.differences import Differing
from conformance.judging.questions import Answer, Predicted, exactly
from conformance.known.xla.subnormals import in_f32
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.ulp import part_distances
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, apply, reshape_operation
from reference.ir.op import Rounding
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, to_bits
from reference.numerics.alike import flush_subnormals
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_mask


def flushed_somewhere(d: Differing) -> Answer:
    """Explained by subnormal results, then inputs, then steps, being treated as zero."""
    if d.platform == Hardware.INTERPRETER:  # it keeps them
        return
    yield from _flushed_at_the_ends(d)
    for hypothesis in d.hypotheses:
        if hypothesis.flushes:
            explained, predicted = d.explained(hypothesis), d.predicted_by(hypothesis)
            yield Verdict.FLUSHED, hypothesis.label, explained, predicted


def _flushed_at_the_ends(d: Differing) -> Answer:
    """Explained by results, inputs, or what is compared; by that first where it explains all: what
    is out of order may be a zero in the place of a subnormal number."""
    results = (Verdict.FLUSHED, "subnormal result", *_as_flushed(d, d.want, _is_flushed(d, d.want)))
    if d.met is None:
        compared = (Verdict.FLUSHED, "subnormal comparison", *exactly(d.ordered_by_flushed))
        yield from (compared, results) if compared[2].all() else (results, compared)
        yield from _flushed_whole(d)
        return
    yield results
    flushed = [flush_subnormals(array) for array in d.met]
    touched = [i for i, new in enumerate(flushed) if new is not d.met[i]]
    for count in range(1, len(touched) + 1):
        for chosen in itertools.combinations(touched, count):
            other = d.again(flushed[i] if i in chosen else a for i, a in enumerate(d.met))
            affected = np.zeros(len(d.where), bool)
            for i in chosen:
                changed = to_bits(flushed[i]) != to_bits(d.met[i])
                affected |= changed.any(axis=-1) if changed.ndim > 1 else changed
            explained = d.near(other) & _same_zeros(d, other) | _is_flushed(d, other)
            if d.type.is_complex:  # log(0) and the like: what becomes of them is left open
                explained |= _open_for(d, chosen, flushed, other)
            explained &= affected
            yield Verdict.FLUSHED, "subnormal input", *_as_flushed(d, other, explained)
    yield Verdict.FLUSHED, "subnormal comparison", *exactly(d.ordered_by_flushed)


def _as_flushed(d: Differing, other: Array, mask: Array) -> tuple[Array, Predicted]:
    """Elements that are `other`, or zero where that is subnormal."""
    near, zero = d.predicted(other), d.predicted(flush_subnormals(other))
    return mask, lambda: near() | zero()


def comparison_flushed(d: Differing) -> Answer:
    """Explained by comparisons alone, all that takes subnormal numbers for zeros in types that are
    computed with in wider ones."""
    if d.platform != Hardware.INTERPRETER:
        yield Verdict.FLUSHED, "subnormal comparison", *exactly(d.ordered_by_flushed)


def is_order_flushed_in_part(d: Differing) -> bool:
    """Tell whether comparisons that take subnormals for zeros explain some elements of an order and
    not all: some are right by chance in any order."""
    if d.met is not None or d.platform == Hardware.INTERPRETER:
        return False
    compared = d.ordered_by_flushed
    return bool(compared.any()) and not compared.all()


def _flushed_whole(d: Differing) -> Answer:
    """Explained by all operands' subnormals being zeros, for an op that does not work element by
    element."""
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
    alike = d.same(other) | _is_flushed(d, other)
    if d.type.is_float:
        alike |= (d.wide[1] == 0) & (to_float64(other) == 0) & ~_moved_zeros(d)
    if d.rule.permits is not None and d.results:
        seen = tuple(flush_subnormals(array) for array in d.results)
        right = d.rule.permits(d.operation, tuple(flushed), results, seen)[d.number]
        alike |= False if right is None else right.reshape(-1)[d.where]
    alike |= d.of_bound(other) <= 1
    alike &= d.right_zeros | _zeros_of(d, flushed, results)
    yield Verdict.FLUSHED, "subnormal input", *_as_flushed(d, other, alike)


def _moved_zeros(d: Differing) -> Array:
    """Which elements are zeros that an operation only moves: flushing changes no sign of these."""
    record = OPS.get(d.operation.name)
    moves = record is not None and record.rounding is Rounding.MOVES
    return (d.wide[0] == 0) & moves


def _zeros_of(d: Differing, operands: list[Array], results: tuple[Array, ...]) -> Array:
    """Which elements have no zero of another sign than the results on flushed operands may have."""
    if d.rule.either_zero is None:
        return np.ones(len(d.where), np.bool_)
    either = d.rule.either_zero(d.operation, tuple(operands), results)[d.number]
    said = replace(d.said, either_zero=either)
    return replace(d, expected=results[d.number], said=said).right_zeros


def _open_for(d: Differing, chosen: tuple[int, ...], flushed: list[Array], other: Array) -> Array:
    """Which elements the specification leaves open once the chosen operands are flushed."""
    operands = [flushed[i] if i in chosen else array for i, array in enumerate(d.met or ())]
    return unspecified_mask(d.operation, operands, other)


def _is_flushed(d: Differing, other: Array) -> Array:
    """Which actual elements are zero where `other` is subnormal.

    Rounding may come before or after the test for tininess, so the smallest normal number counts
    as one. A complex part may be a sum of products, each of which may have been lost; but what is
    left is zero or no subnormal number.
    """
    if not (d.type.is_float or d.type.is_complex) or not d.type.float_format.has_zero:
        return np.zeros(len(d.where), bool)
    smallest = d.type.float_format.smallest_normal
    if d.type.is_complex:
        errors = part_distances(other, d.got)
        right = [error <= (d.budget or 0) for error in errors]
        nans = [np.isnan(part(other)) & np.isnan(part(d.got)) for part in (np.real, np.imag)]
        if not d.budget:  # not even what is lost beside a large part
            parts = ((part(other), part(d.got)) for part in (np.real, np.imag))
            right = [one & (want == got) for one, (want, got) in zip(right, parts, strict=True)]
        right = [one | nan for one, nan in zip(right, nans, strict=True)]
        lost = [_has_lost(d, part(other), part(d.got)) for part in (np.real, np.imag)]
        either = [a | b for a, b in zip(right, lost, strict=True)]
        if d.bounded:  # budgets are in units of the bound then, and one ulp may be all that is lost
            gone = [
                small & (part(other) != part(d.got))
                for small, part in zip(lost, (np.real, np.imag), strict=True)
            ]
            return either[0] & either[1] & (gone[0] | gone[1])
        return either[0] & either[1] & ~(right[0] & right[1])
    want, got = to_float64(other), d.wide[1]
    lost = (np.abs(want) <= smallest) & (want != 0) & (got == 0)
    return lost if d.bounded else lost & (np.signbit(want) == np.signbit(got))


def _same_zeros(d: Differing, other: Array) -> Array:
    """Which elements have no zero of another sign than `other`: flushing keeps the sign.

    Parts of complex numbers that are sums of products may be other sums, and have any.
    """
    wrong = is_zero(other) & is_zero(d.got) & (is_negative(other) != is_negative(d.got))
    if d.type.is_complex:
        return ~wrong.any(axis=-1) | _adds_products(d)
    return ~wrong


def _adds_products(d: Differing) -> bool:
    return d.record is None or d.record.multiplies


def _has_lost(d: Differing, other: Array, got: Array) -> Array:
    """Tell which parts of complex numbers are what is left once subnormal numbers are lost."""
    smallest = d.type.float_format.smallest_normal
    gone = (np.abs(other) <= smallest) & (got == 0)
    if not _adds_products(d):
        return gone & (np.signbit(other) == np.signbit(got))
    left = (got == 0) | (np.abs(got) >= smallest)
    return left & (np.abs(other - got) <= 2 * smallest)


def flushed_in_f32(d: Differing) -> Answer:
    """Explained by arithmetic in f32 that flushes numbers which the narrow type keeps.

    No subnormal number of the type itself is taken for zero, so the results are wrong.
    """
    if d.platform == Hardware.INTERPRETER or not in_f32.may_flush(d.operands, (d.expected,)):
        return
    if d.met is None:
        operation, operands, place, where = d.operation, d.operands, d.number, d.where
    else:
        operation, operands = reshape_operation(d.operation, d.where.shape), d.met
        place, where = 0, np.arange(len(d.where))
    try:
        for results in in_f32.flushed(operation, operands):
            other = results[place].reshape(-1)[where]
            explained = d.near(other) | (d.of_bound(other) <= 1)
            yield Verdict.DIVERGENT, in_f32.LABEL, explained, d.predicted(other)
    except EvaluationError:
        return


def is_computed_wider(d: Differing) -> bool:
    """Whether all numbers of the result's type, and of those of operands, are normal in f32."""
    arrays = (one for one in d.operands if isinstance(one, np.ndarray))
    types = {d.type, *map(element_type_of, arrays)}
    formats = [of.float_format for of in types if of.is_float or of.is_complex]
    return bool(formats) and all(one.smallest >= _SINGLE.smallest_normal for one in formats)


_SINGLE = ELEMENT_TYPES["f32"].float_format

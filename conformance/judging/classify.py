"""What differs and why: a verdict and a class label for each element that is not bit-identical.

The questions stand in `QUESTIONS`, in the order in which they are asked; an element's first yes
decides. All work is on the differing elements alone, as 1-D arrays, with the operands' elements
that met there, so that hypotheses ("subnormals are zero", "operands swapped") are tried by
evaluating the op again on just those.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np

from conformance.judging.differences import Differing
from conformance.judging.questions import Answer, Findings, Predicted, Question, ask, limited
from conformance.known.hypothesis import Hypothesis
from conformance.known.iota import is_iota, without_signed_zeros
from conformance.known.xla.subnormals import in_f32, subnormal_order
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.ulp import bound_distances, part_distances
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, apply, of_shape
from reference.ir.op import Rounding
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, to_bits
from reference.numerics.alike import without_subnormals
from reference.numerics.elementary import functions
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS
from reference.unspecified.table import is_open, unspecified

BY_FORMULA = "other reading"
"""The kind of a permitted element whose distance says nothing: another formula gave it."""

PAIR = 2
FAR = 64
"""Bounds; an error beyond so many is no lack of accuracy any more."""
NEARLY_ALL = 0.9
HALF = 32
"""Bits of the type that a 64-bit type is most often mistaken for."""


def find(differing: Differing) -> Findings:
    """What explains each of the elements."""
    return ask(QUESTIONS, differing, len(differing.where))


def outside_accuracy(findings: Findings) -> list[int]:
    """The codes whose elements say nothing about accuracy: those left open by the specification,
    flushed, wrong beyond measure, or read otherwise."""
    apart = (Verdict.UNSPECIFIED, Verdict.FLUSHED, Verdict.DIVERGENT)
    return [
        code
        for code, (verdict, kind) in enumerate(findings.table)
        if verdict in apart or kind == BY_FORMULA
    ]


def _refuted(d: Differing) -> Answer:
    """Wrong whatever is left open; but for what is explained by subnormals treated as zero."""
    for label, wrong, is_predicted in (*_refuting(d), *_excluded(d)):
        if wrong.any():
            flushed = _comparison_flushed(d) if _is_computed_wider(d) else _flushed(d)
            yield from limited((*_as_computed(d), *flushed, *_flushed_in_f32(d)), wrong)
        if is_predicted:
            yield Verdict.DIVERGENT, label, *_exactly(wrong)
        yield Verdict.DIVERGENT, label, wrong


def _refuting(d: Differing) -> Iterator[tuple[str, Array, bool]]:
    """The classes of hypotheses that refute elements; bounded ones predict them no nearer than
    that."""
    for hypothesis in d.hypotheses:
        if hypothesis.refutes:
            yield hypothesis.label, d.explained(hypothesis), not d.bounded


def _excluded(d: Differing) -> Iterator[tuple[str, Array, bool]]:
    """The elements that the rule itself excludes, by class; nothing predicts them."""
    for label, mask in d.excluded:
        yield label, np.broadcast_to(mask, d.expected.shape).reshape(-1)[d.where], False


def _permitted(d: Differing) -> Answer:
    """Equal but for a NaN's payload, or within the budget with the right sign and range."""
    if d.permitted is not None:
        yield Verdict.PASS, "", d.permitted.reshape(-1)[d.where]
    if d.bounded:
        yield Verdict.PASS, "", d.same(d.want) | ((d.distances <= 1) & d.right_zeros)
        return
    if not (d.type.is_float or d.type.is_complex) or d.rule.nan_bits:
        return
    if d.type.is_complex:
        if d.budget:
            yield Verdict.PASS, "", d.distances <= d.budget
        yield Verdict.PASS, "", d.same(d.want)
        return
    want, got = d.wide
    yield Verdict.PASS, "", np.isnan(want) & np.isnan(got)
    if d.budget:
        right = (np.signbit(want) == np.signbit(got)) & ~_out_of_bounds(d) & ~_overflown(d)
        yield Verdict.PASS, "", (d.distances <= d.budget) & right


def _out_of_bounds(d: Differing) -> Array:
    if d.rule.range is None or not d.is_real:
        return np.zeros(len(d.where), bool)
    low, high = d.rule.range
    got = d.wide[1]
    return (got < low) | (got > high)


def _overflown(d: Differing) -> Array:
    """Finite where infinity is due, and not just because the exact result is so near the limit.

    By number the largest finite value is next to infinity, however large the exact result is.
    """
    want, got = d.wide
    lost = np.isinf(want) & np.isfinite(got)
    if d.met is not None and lost.any():
        name, largest = d.operation.name, np.asarray(d.type.float_format.max_finite, np.longdouble)
        exact = np.abs(functions.wide(name, *d.met)) if name in functions.REAL else np.inf
        lost &= exact > largest + (d.budget or 0) * ulp_size(largest, d.type)
    return lost


def _left_open(d: Differing) -> Answer:
    for label, mask in unspecified(d.operation, d.operands, d.expected, d.number):
        yield Verdict.UNSPECIFIED, label, mask.reshape(-1)[d.where]


def _by_formula(d: Differing) -> Answer:
    if d.met is not None:
        for formula in d.rule.formulas:
            with np.errstate(all="ignore"):
                near = d.near(formula(*d.met)) & ~_out_of_bounds(d)
            yield Verdict.PASS, BY_FORMULA, near


def _as_computed(d: Differing) -> Answer:
    """Explained by what an expectation says that the backend computes in place of the op."""
    for hypothesis in d.hypotheses:
        if hypothesis.stated:
            yield from _computed_otherwise(d, hypothesis)


def _computed_otherwise(d: Differing, hypothesis: Hypothesis) -> Answer:
    """Explained by a hypothesis: not accurate where the elements are near, else wrong."""
    explained, predicted = d.explained(hypothesis), d.predicted_by(hypothesis)
    near = explained & _right_size(d) & d.right_zeros
    yield Verdict.INACCURATE, hypothesis.label, near, predicted
    yield Verdict.DIVERGENT, hypothesis.label, explained, predicted


def _flushed(d: Differing) -> Answer:
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
        compared = (Verdict.FLUSHED, "subnormal comparison", *_exactly(_compared_flushed(d)))
        yield from (compared, results) if compared[2].all() else (results, compared)
        yield from _flushed_whole(d)
        return
    yield results
    flushed = [without_subnormals(array) for array in d.met]
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
    yield Verdict.FLUSHED, "subnormal comparison", *_exactly(_compared_flushed(d))


def _exactly(mask: Array) -> tuple[Array, Predicted]:
    """Elements that a class explains only where they are bit for bit what it predicts."""
    return mask, lambda: mask


def _as_flushed(d: Differing, other: Array, mask: Array) -> tuple[Array, Predicted]:
    """Elements that are `other`, or zero where that is subnormal."""
    near, zero = d.predicted(other), d.predicted(without_subnormals(other))
    return mask, lambda: near() | zero()


def _comparison_flushed(d: Differing) -> Answer:
    """Explained by comparisons alone, all that takes subnormal numbers for zeros in types that are
    computed with in wider ones."""
    if d.platform != Hardware.INTERPRETER:
        yield Verdict.FLUSHED, "subnormal comparison", *_exactly(_compared_flushed(d))


def _compared_flushed(d: Differing) -> Array:
    """Which elements are explained by comparisons that take subnormals for zeros, and flush
    nothing."""
    alone = len(d.operation.results) == 1  # then others of the program are not its results
    actual = (d.actual,) if alone else d.results
    whole = len(actual) == len(d.operation.results)
    if not whole or not all(isinstance(operand, np.ndarray) for operand in d.operands):
        return np.zeros(len(d.where), np.bool_)
    masks = subnormal_order.explained(d.operation, d.operands, actual, d.rule)
    return masks[d.number].reshape(-1)[d.where]


def _flushed_whole(d: Differing) -> Answer:
    """Explained by all operands' subnormals being zeros, for an op that does not work element by
    element."""
    if not all(isinstance(operand, np.ndarray) for operand in d.operands):
        return
    flushed = [without_subnormals(operand) for operand in d.operands]
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
        seen = tuple(without_subnormals(array) for array in d.results)
        right = d.rule.permits(d.operation, tuple(flushed), results, seen)[d.number]
        alike |= False if right is None else right.reshape(-1)[d.where]
    if d.bound is not None:
        alike |= bound_distances(other, d.got, d.bound.reshape(-1)[d.where]) <= 1
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
    return replace(d, expected=results[d.number], either_zero=either).right_zeros


def _open_for(d: Differing, chosen: tuple[int, ...], flushed: list[Array], other: Array) -> Array:
    """Which elements the specification leaves open once the chosen operands are flushed."""
    operands = [flushed[i] if i in chosen else array for i, array in enumerate(d.met or ())]
    return is_open(d.operation, operands, other)


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


def _flushed_in_f32(d: Differing) -> Answer:
    """Explained by arithmetic in f32 that flushes numbers which the narrow type keeps.

    No subnormal number of the type itself is taken for zero, so the results are wrong.
    """
    if d.platform == Hardware.INTERPRETER or not in_f32.may_flush(d.operands, (d.expected,)):
        return
    if d.met is None:
        operation, operands, place, where = d.operation, d.operands, d.number, d.where
    else:
        operation, operands = of_shape(d.operation, d.where.shape), d.met
        place, where = 0, np.arange(len(d.where))
    try:
        for results in in_f32.flushed(operation, operands):
            other = results[place].reshape(-1)[where]
            explained = d.near(other)
            if d.bound is not None:
                explained |= bound_distances(other, d.got, d.bound.reshape(-1)[d.where]) <= 1
            yield Verdict.DIVERGENT, in_f32.LABEL, explained, d.predicted(other)
    except EvaluationError:
        return


def _other_formula(d: Differing) -> Answer:
    """Explained by another formula than the specification's, which compilers are known to use."""
    for hypothesis in d.hypotheses:
        if not (hypothesis.stated or hypothesis.flushes or hypothesis.refutes):
            yield from _computed_otherwise(d, hypothesis)


def _flushed_or_other_formula(d: Differing) -> Answer:
    """Explained by numbers taken for zero, or by another formula.

    The formula comes first in types whose subnormal numbers are none where they are computed with.
    """
    questions = (_flushed, _other_formula)
    for question in reversed(questions) if _is_computed_wider(d) else questions:
        yield from question(d)


def _is_computed_wider(d: Differing) -> bool:
    """Whether all numbers of the result's type, and of those of operands, are normal in f32."""
    arrays = (one for one in d.operands if isinstance(one, np.ndarray))
    types = {d.type, *map(element_type_of, arrays)}
    formats = [of.float_format for of in types if of.is_float or of.is_complex]
    return bool(formats) and all(one.smallest >= _SINGLE.smallest_normal for one in formats)


_SINGLE = ELEMENT_TYPES["f32"].float_format


def _taken_for_iota(d: Differing) -> Answer:
    """A constant -0, 1, 2, ... taken for an iota, which begins with +0: the result, where it is
    made of constants alone, or an operand."""
    if all(d.constants) and is_iota(d.expected):
        yield Verdict.DIVERGENT, "taken for iota", *_exactly((d.where == 0) & (d.got == 0))
    taken = [
        constant and isinstance(one, np.ndarray) and is_iota(one)
        for one, constant in zip(d.operands, d.constants, strict=True)
    ]
    if any(taken) and len(d.results) == 1:
        operands = [
            without_signed_zeros(one) if other else one
            for one, other in zip(d.operands, taken, strict=True)
        ]
        (result,) = apply(d.operation, operands)
        other = result.reshape(-1)[d.where]
        yield Verdict.DIVERGENT, "taken for iota", d.near(other), d.predicted(other)


def _special_values(d: Differing) -> Answer:
    if not (d.type.is_float or d.type.is_complex):
        return
    nan = np.isnan(d.want) != np.isnan(d.got)
    yield Verdict.DIVERGENT, "NaN", nan
    if d.type.is_complex:
        yield Verdict.DIVERGENT, "infinity", np.isinf(d.want) != np.isinf(d.got)
        alike = (d.distances <= 1) & ~d.right_zeros if d.bounded else d.want == d.got
        yield Verdict.DIVERGENT, "signed zero", alike
        return
    want, got = d.wide
    yield Verdict.DIVERGENT, "NaN bits", np.isnan(want) & np.isnan(got)
    yield Verdict.DIVERGENT, "signed zero", (want == 0) & (got == 0)
    yield Verdict.DIVERGENT, "infinity", np.isinf(want) != np.isinf(got)


def _swapped(d: Differing) -> Answer:
    """Operands swapped: then nearly all elements must say so, not just some that differ."""
    if len(d.operands) != PAIR or d.met is None or d.operands[0].dtype != d.operands[1].dtype:
        return
    whole = replace(d, where=np.arange(d.expected.size))
    if whole.met is None:
        return
    other = whole.again(whole.met[::-1])
    explained = whole.near(other)
    if explained.mean() > NEARLY_ALL:
        predicted = d.predicted(other[d.where])
        yield Verdict.DIVERGENT, "operands swapped", explained[d.where], predicted


def _integers(d: Differing) -> Answer:
    if not d.type.is_integer:
        return
    record = d.record
    if record and record.wraps and record.unrounded is not None and d.met is not None:
        low, high = d.type.min_integer, d.type.max_integer
        unbounded = record.unrounded(*(array.astype(object) for array in d.met))
        clipped = np.clip(unbounded, low, high)
        saturated = (clipped == d.got.astype(object)) & (clipped != unbounded)
        yield Verdict.DIVERGENT, "saturation", *_exactly(saturated.astype(bool))
    if d.type.bits > HALF:
        for half in (np.int32, np.uint32):  # with the sign extended, or zeros
            extended = d.want.astype(half).astype(d.type.storage)
            yield Verdict.DIVERGENT, "truncated to 32 bits", *_exactly(d.got == extended)


_DETOURS = (np.float32, np.float16, ml_dtypes.bfloat16)
"""The types that backends compute narrower ones in, to round a second time afterwards."""


def _unrounded(d: Differing) -> Array | None:
    """The exact real results as float64 (long double for integers), where it holds them."""
    record = d.record
    if record is None or d.met is None or not d.is_real:
        return None
    if record.unrounded is None or record.is_sign_only:
        return None
    if len(d.met) == 1 and element_type_of(d.met[0]).is_integer:
        return d.met[0].astype(np.longdouble)
    if not all(element_type_of(a).is_float for a in d.met) or d.type.name == "f64":
        return d.met[0] if _is_whole(d) else None
    return record.unrounded(*(to_float64(array) for array in d.met))


def _is_whole(d: Differing) -> bool:
    """Whether the op rounds to whole numbers, which are exact."""
    record = d.record
    return bool(record) and record.rounding is Rounding.EXACT and record.unrounded is np.positive


def _rounding(d: Differing) -> Answer:
    """One representable number off: a tie broken the wrong way, or rounded twice."""
    exact = _unrounded(d)
    if exact is None:
        return
    want, got = d.wide
    tie = (want - exact == exact - got) & (want != got) & np.isfinite(exact)
    close = d.distances <= 1
    whole = _is_whole(d)
    verdict = Verdict.DIVERGENT if whole else Verdict.INACCURATE
    yield verdict, "tie rounding", *_exactly(tie & (close | whole))
    for detour in _DETOURS:
        if np.dtype(detour).itemsize * 8 > d.type.bits:
            twice = round_to(exact.astype(detour).astype(np.float64), d.type)
            yield Verdict.INACCURATE, "double rounding", *_exactly(d.same(twice) & close)


def _rewritten(d: Differing) -> Answer:
    """A quotient computed as a product with the rounded reciprocal of the divisor."""
    if d.operation.name == "divide" and d.is_real and d.met is not None:
        lhs, rhs = d.met
        divide, multiply = OPS["divide"].evaluate, OPS["multiply"].evaluate
        reciprocal = divide(np.ones(rhs.shape, rhs.dtype), rhs)
        alike = d.same(multiply(lhs, reciprocal))
        yield Verdict.INACCURATE, "reciprocal", *_exactly(alike & (d.distances <= PAIR))
        lost = d.same(
            multiply(lhs, without_subnormals(reciprocal))
        )  # of a divisor near the largest number
        yield Verdict.DIVERGENT, "reciprocal", *_exactly(alike | lost)


def _right_size(d: Differing) -> Array:
    """Which elements are so near that they only lack accuracy: within a few bounds, or half of the
    significand's digits, and of the right sign."""
    if d.bounded:
        return d.distances <= FAR
    if d.rule.ulps is None or not (d.type.is_float or d.type.is_complex):
        return np.zeros(len(d.where), np.bool_)
    limit = float(1 << (d.type.float_format.precision // 2 + 1))
    finite = np.isfinite(d.want) & np.isfinite(d.got) & (d.distances <= limit)
    if d.is_real:
        want, got = d.wide
        finite &= np.signbit(want) == np.signbit(got)
    return finite


def _accuracy(d: Differing) -> Answer:
    """The right value with too large an error."""
    near = _right_size(d)
    if d.is_real and not d.bounded:
        yield Verdict.INACCURATE, "out of the function's range", near & _out_of_bounds(d)
    yield Verdict.INACCURATE, "accuracy", near


def _wrong(d: Differing) -> Answer:
    if d.is_real:
        want, got = d.wide
        yield Verdict.DIVERGENT, "sign", (want == -got) & (want != 0)
    yield Verdict.DIVERGENT, "wrong value", np.ones(len(d.where), bool)


QUESTIONS: tuple[Question[Differing], ...] = (
    _refuted,
    _permitted,
    _left_open,
    _by_formula,
    _as_computed,
    _flushed_or_other_formula,
    _taken_for_iota,
    _flushed_in_f32,
    _rewritten,
    _special_values,
    _swapped,
    _rounding,
    _accuracy,
    _integers,
    _wrong,
)

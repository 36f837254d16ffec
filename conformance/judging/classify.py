"""What differs and why: a verdict and a class label for each element that is not bit-identical.

The questions stand in `QUESTIONS`, in the order in which they are asked; an element's first yes
decides. All work is on the differing elements alone, as 1-D arrays, with the operands' elements
that met there, so that hypotheses ("subnormals are zero", "operands swapped") are tried by
evaluating the op again on just those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.judging.differences import Differing
from conformance.judging.questions import Answer, Findings, Question, ask, exactly, limited
from conformance.judging.subnormals import (
    comparison_flushed,
    flushed_in_f32,
    flushed_somewhere,
    is_computed_wider,
    is_order_flushed_in_part,
)
from conformance.known.hypothesis import Hypothesis
from conformance.verdict import Verdict
from reference.ir.types import Array
from reference.numerics.elementary import functions
from reference.numerics.rounding import ulp_size
from reference.unspecified.table import unspecified

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
    for label, wrong, *predicted in (*_refuting(d), *_excluded(d)):
        if wrong.any():
            yield from limited((*_as_computed(d), *_flushed(d), *flushed_in_f32(d)), wrong)
        yield Verdict.DIVERGENT, label, wrong, *predicted


def _flushed(d: Differing) -> Answer:
    """Explained by subnormals treated as zero: by comparisons alone in types that are computed
    with in wider ones, and by nothing where an order is not all that such comparisons make it."""
    if is_order_flushed_in_part(d):
        return ()
    return comparison_flushed(d) if is_computed_wider(d) else flushed_somewhere(d)


def _refuting(d: Differing) -> Iterator[tuple[Any, ...]]:
    """The classes of hypotheses that refute elements; bounded ones predict them no nearer than
    that, and those that change with what lies in memory where they say what else there is."""
    for hypothesis in d.hypotheses:
        if not hypothesis.refutes:
            continue
        wrong = d.explained(hypothesis)
        if hypothesis.unsteady:
            yield hypothesis.label, wrong, d.predicted_by(hypothesis)
        else:
            yield hypothesis.label, *((wrong,) if d.bounded else exactly(wrong))


def _excluded(d: Differing) -> Iterator[tuple[Any, ...]]:
    """The elements that the rule itself excludes, by class; nothing predicts them."""
    for label, mask in d.said.excluded:
        yield label, np.broadcast_to(mask, d.expected.shape).reshape(-1)[d.where]


def _permitted(d: Differing) -> Answer:
    """Equal but for a NaN's payload, or within the budget with the right sign and range."""
    if d.said.permitted is not None:
        yield Verdict.PASS, "", d.said.permitted.reshape(-1)[d.where]
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


def _other_formula(d: Differing) -> Answer:
    """Explained by another formula than the specification's, which compilers are known to use."""
    for hypothesis in d.hypotheses:
        if not (hypothesis.stated or hypothesis.flushes or hypothesis.refutes):
            yield from _computed_otherwise(d, hypothesis)


def _flushed_or_other_formula(d: Differing) -> Answer:
    """Explained by numbers taken for zero, or by another formula.

    The formula comes first in types whose subnormal numbers are none where they are computed with,
    and where an order is not all that numbers taken for zero make it.
    """
    questions = (flushed_somewhere, _other_formula)
    is_formula_first = is_computed_wider(d) or is_order_flushed_in_part(d)
    for question in reversed(questions) if is_formula_first else questions:
        yield from question(d)


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
        yield Verdict.DIVERGENT, "saturation", *exactly(saturated.astype(bool))
    if d.type.bits > HALF:
        for half in (np.int32, np.uint32):  # with the sign extended, or zeros
            extended = d.want.astype(half).astype(d.type.storage)
            yield Verdict.DIVERGENT, "truncated to 32 bits", *exactly(d.got == extended)


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
    flushed_in_f32,
    _special_values,
    _swapped,
    _accuracy,
    _integers,
    _wrong,
)

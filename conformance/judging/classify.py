"""Classification: a verdict and a class label for each element that is not bit-identical.

The questions stand in `QUESTIONS`, in the order in which they are asked; the first yes decides.
Only the differing elements are examined, as 1-D arrays beside the operand elements at the same
positions. A hypothesis ("subnormals are zero", "operands swapped") is tested by evaluating the op
again on just those elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from conformance.judging.differences import DifferingElements
from conformance.judging.questions import (
    Answer,
    ElementClasses,
    Question,
    ask,
    exact_match,
    restrict_answers,
)
from conformance.judging.subnormals import (
    find_flushed,
    find_flushed_in_f32,
)
from conformance.known.hypothesis import Hypothesis
from conformance.verdict import Verdict
from reference.ir.types import Array
from reference.numerics.elementary import functions
from reference.numerics.rounding import ulp_size
from reference.unspecified.table import unspecified_elements

BY_FORMULA = "other reading"
"""The kind of a permitted element that another formula gives: its distance is not counted as an
error.
"""

PAIR = 2
FAR = 64
"""Largest error, in units of the bound, that counts as a lack of accuracy."""
NEARLY_ALL = 0.9
HALF = 32
"""Width in bits of the type to which backends most often truncate a 64-bit type."""


def classify_elements(differing: DifferingElements) -> ElementClasses:
    """Return a verdict and a class for each of the differing elements."""
    return ask(QUESTIONS, differing, len(differing.where))


def codes_without_accuracy(findings: ElementClasses) -> list[int]:
    """Return the codes whose elements do not count for accuracy.

    These are unspecified, flushed and divergent elements, and those permitted by another formula.
    """
    apart = (Verdict.UNSPECIFIED, Verdict.FLUSHED, Verdict.DIVERGENT)
    return [
        code
        for code, (verdict, kind) in enumerate(findings.table)
        if verdict in apart or kind == BY_FORMULA
    ]


def _find_excluded(d: DifferingElements) -> Answer:
    """Yield elements that the rule itself excludes, even where the result is unspecified.

    Elements that an expectation states, or that flushed subnormals explain, are of those classes.
    """
    for label, mask in d.answers.excluded:
        wrong = np.broadcast_to(mask, d.expected.shape).reshape(-1)[d.where]
        if wrong.any():
            explained = (*_find_stated(d), *find_flushed(d), *find_flushed_in_f32(d))
            yield from restrict_answers(explained, wrong)
        yield Verdict.DIVERGENT, label, wrong


def _find_permitted(d: DifferingElements) -> Answer:
    """Yield elements that differ only in a NaN's payload or are within the budget.

    Within the budget an element needs the right sign and the right range, too.
    """
    if d.answers.permitted is not None:
        yield Verdict.PASS, "", d.answers.permitted.reshape(-1)[d.where]
    if d.is_bounded:
        yield Verdict.PASS, "", d.is_same(d.want) | ((d.distances <= 1) & d.has_permitted_zeros)
        return
    if not (d.type.is_float or d.type.is_complex) or d.rule.nan_bits:
        return
    if d.type.is_complex:
        if d.budget:
            yield Verdict.PASS, "", d.distances <= d.budget
        yield Verdict.PASS, "", d.is_same(d.want)
        return
    want, got = d.wide
    yield Verdict.PASS, "", np.isnan(want) & np.isnan(got)
    if d.budget:
        right = (
            (np.signbit(want) == np.signbit(got)) & ~_is_out_of_range(d) & ~_is_missed_overflow(d)
        )
        yield Verdict.PASS, "", (d.distances <= d.budget) & right


def _is_out_of_range(d: DifferingElements) -> Array:
    if d.rule.range is None or not d.is_real:
        return np.zeros(len(d.where), bool)
    low, high = d.rule.range
    got = d.wide[1]
    return (got < low) | (got > high)


def _is_missed_overflow(d: DifferingElements) -> Array:
    """Return a mask of finite elements where the result must be infinite.

    An exact result so near the limit that the budget reaches it is excepted. Counted in ulp the
    largest finite value is next to infinity, however large the exact result is.
    """
    want, got = d.wide
    lost = np.isinf(want) & np.isfinite(got)
    if d.operand_elements is not None and lost.any():
        name, largest = d.operation.name, np.asarray(d.type.float_format.max_finite, np.longdouble)
        exact = (
            np.abs(functions.wide_values(name, *d.operand_elements))
            if functions.function_of(name)
            else np.inf
        )
        lost &= exact > largest + (d.budget or 0) * ulp_size(largest, d.type)
    return lost


def _find_unspecified(d: DifferingElements) -> Answer:
    for label, mask in unspecified_elements(d.operation, d.operands, d.expected, d.number):
        yield Verdict.UNSPECIFIED, label, mask.reshape(-1)[d.where]


def _find_permitted_formula(d: DifferingElements) -> Answer:
    if d.operand_elements is not None:
        for formula in d.rule.formulas:
            with np.errstate(all="ignore"):
                near = d.is_near(formula(*d.operand_elements)) & ~_is_out_of_range(d)
            yield Verdict.PASS, BY_FORMULA, near


def _find_stated(d: DifferingElements) -> Answer:
    """Yield elements that match a hypothesis stated by an expectation."""
    yield from _match_hypotheses(
        d, (hypothesis for hypothesis in d.hypotheses if hypothesis.stated)
    )


def _match_hypotheses(d: DifferingElements, hypotheses: Iterable[Hypothesis]) -> Answer:
    """Yield elements that match a hypothesis: near elements as inaccurate, other elements as
    divergent.
    """
    for hypothesis in hypotheses:
        explained, predicted = d.matches(hypothesis)
        near = explained & _is_inaccurate(d) & d.has_permitted_zeros
        yield Verdict.INACCURATE, hypothesis.label, near, predicted
        yield Verdict.DIVERGENT, hypothesis.label, explained, predicted


def _find_other_arithmetic(d: DifferingElements) -> Answer:
    """Yield elements that any op may have from other roundings."""
    yield from _match_hypotheses(
        d, (hypothesis for hypothesis in d.hypotheses if not hypothesis.stated)
    )


def _find_special_values(d: DifferingElements) -> Answer:
    if not (d.type.is_float or d.type.is_complex):
        return
    nan = np.isnan(d.want) != np.isnan(d.got)
    yield Verdict.DIVERGENT, "NaN", nan
    if d.type.is_complex:
        yield Verdict.DIVERGENT, "infinity", np.isinf(d.want) != np.isinf(d.got)
        alike = (d.distances <= 1) & ~d.has_permitted_zeros if d.is_bounded else d.want == d.got
        yield Verdict.DIVERGENT, "signed zero", alike
        return
    want, got = d.wide
    yield Verdict.DIVERGENT, "NaN bits", np.isnan(want) & np.isnan(got)
    yield Verdict.DIVERGENT, "signed zero", (want == 0) & (got == 0)
    yield Verdict.DIVERGENT, "infinity", np.isinf(want) != np.isinf(got)


def _find_swapped_operands(d: DifferingElements) -> Answer:
    """Yield elements that match the op with its operands swapped.

    Nearly all elements of the result must match, not only some that differ.
    """
    if (
        len(d.operands) != PAIR
        or d.operand_elements is None
        or d.operands[0].dtype != d.operands[1].dtype
    ):
        return
    whole = replace(d, where=np.arange(d.expected.size))
    if whole.operand_elements is None:
        return
    other = whole.evaluate_operation(whole.operand_elements[::-1])
    explained = whole.is_near(other)
    if explained.mean() > NEARLY_ALL:
        predicted = d.prediction(other[d.where])
        yield Verdict.DIVERGENT, "operands swapped", explained[d.where], predicted


def _find_integer_errors(d: DifferingElements) -> Answer:
    if not d.type.is_integer:
        return
    record = d.record
    if record and record.wraps and record.unrounded is not None and d.operand_elements is not None:
        low, high = d.type.min_integer, d.type.max_integer
        unbounded = record.unrounded(*(array.astype(object) for array in d.operand_elements))
        clipped = np.clip(unbounded, low, high)
        saturated = (clipped == d.got.astype(object)) & (clipped != unbounded)
        yield Verdict.DIVERGENT, "saturation", *exact_match(saturated.astype(bool))
    if d.type.bits > HALF:
        for half in (np.int32, np.uint32):  # with the sign extended, or zeros
            extended = d.want.astype(half).astype(d.type.storage)
            yield Verdict.DIVERGENT, "truncated to 32 bits", *exact_match(d.got == extended)


def _is_inaccurate(d: DifferingElements) -> Array:
    """Return a mask of elements whose error is a lack of accuracy rather than a wrong value.

    The error is within `FAR` bounds, or within half of the significand's digits with the right
    sign.
    """
    if d.is_bounded:
        return d.distances <= FAR
    if d.rule.ulps is None or not (d.type.is_float or d.type.is_complex):
        return np.zeros(len(d.where), np.bool_)
    limit = float(1 << (d.type.float_format.precision // 2 + 1))
    finite = np.isfinite(d.want) & np.isfinite(d.got) & (d.distances <= limit)
    if d.is_real:
        want, got = d.wide
        finite &= np.signbit(want) == np.signbit(got)
    return finite


def _find_inaccurate(d: DifferingElements) -> Answer:
    """Yield elements with the right value but too large an error."""
    near = _is_inaccurate(d)
    if d.is_real and not d.is_bounded:
        yield Verdict.INACCURATE, "out of range", near & _is_out_of_range(d)
    yield Verdict.INACCURATE, "accuracy", near


def _find_wrong(d: DifferingElements) -> Answer:
    if d.is_real:
        want, got = d.wide
        yield Verdict.DIVERGENT, "sign", (want == -got) & (want != 0)
    yield Verdict.DIVERGENT, "wrong value", np.ones(len(d.where), bool)


QUESTIONS: tuple[Question[DifferingElements], ...] = (
    _find_excluded,
    _find_permitted,
    _find_unspecified,
    _find_permitted_formula,
    _find_stated,
    find_flushed,
    find_flushed_in_f32,
    _find_other_arithmetic,
    _find_special_values,
    _find_swapped_operands,
    _find_inaccurate,
    _find_integer_errors,
    _find_wrong,
)

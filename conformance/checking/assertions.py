"""Judgement of the assertions of a test program: each compares two of its results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.frontends.assertions import Assertion
from conformance.judging.compare import describe_malformed
from conformance.judging.differences import decimal
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import permitted_elements
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from reference.ir.types import Array
from reference.numerics.alike import equal_elements


def judge_assertions(
    assertions: Sequence[Assertion],
    permitted: PermittedResults,
    actual: Sequence[Array],
    *,
    is_reference: bool,
) -> Outcome:
    """Return the worst outcome of the assertions of a test program."""
    bad = describe_malformed(permitted.expected, actual)
    if bad is not None:
        return Outcome(Verdict.DIVERGENT, *bad)
    outcomes = [Outcome(Verdict.PASS)]
    for index, assertion in enumerate(assertions):
        got, want = actual[2 * index], actual[2 * index + 1]
        fails = assertion.fails(got, want)
        if fails.any() and assertion.is_near:
            fails &= ~_right_elements(permitted, 2 * index, got, want, is_reference=is_reference)
        if not fails.any():
            continue
        open_ = _unspecified_mask(permitted, 2 * index) & fails
        verdict, kind = Verdict.DIVERGENT, "expectation"
        if open_.all() or (open_ == fails).all():
            verdict, kind = Verdict.UNSPECIFIED, permitted.reasons[0]
        outcomes.append(_assertion_outcome(verdict, kind, assertion.name, fails, got, want))
    return max(outcomes, key=lambda outcome: outcome.verdict.severity)


def _right_elements(
    permitted: PermittedResults, number: int, got: Array, want: Array, *, is_reference: bool
) -> Array:
    """Return the mask of elements that are right although the assertion fails. Expected values
    come from some backend, and are rounded. If the assertion permits less than the program's
    roundings amount to, every value that a backend may give is right.
    """
    either = permitted_elements(permitted, number, want)
    return either if is_reference else either & permitted_elements(permitted, number, got)


def _unspecified_mask(permitted: PermittedResults, number: int) -> Array:
    """Return the mask of elements of a result that depend on unspecified values."""
    want = permitted.expected[number]
    varying = np.zeros(want.shape, np.bool_)
    for sample in permitted.filled_samples():
        varying |= ~equal_elements(want, sample[number])
    return varying


def _assertion_outcome(
    verdict: Verdict, kind: str, name: str, fails: Array, got: Array, want: Array
) -> Outcome:
    index = tuple(int(i) for i in np.argwhere(fails)[0])
    one, other = (np.asarray(array[index]).reshape(1) for array in (want, got))
    message = (
        f"check.{name} does not hold for {int(fails.sum())} of {fails.size} elements; "
        f"at {list(index)} expected {decimal(one)}, got {decimal(other)}"
    )
    return Outcome(verdict, kind, message)

"""Judging programs of several operations by perturbed evaluation.

The reference evaluates the program again and again, every time with all intermediate results moved
within their own tolerances, in directions chosen at random, alike, or all one way. What the results
take as values then, and a margin around them, is what is permitted.

Where nothing that a program computes is rounded, no result moves: it is then judged bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from conformance.catalog import rule_of
from conformance.judging import element_types
from conformance.judging.compare import (
    MALFORMED,
    SHOWN,
    Judgement,
    combine,
    judged_by_bits,
    malformed,
    renamed,
)
from conformance.judging.differences import decimal, hexadecimal
from conformance.judging.perturbation.evaluations import SAMPLES, Permitted
from conformance.judging.perturbation.hook import Values
from conformance.judging.perturbation.hull import failures, is_near, within
from conformance.judging.questions import Answer, Finding, Question, ask
from conformance.judging.wording import of_elements
from conformance.known.hypothesis import Hypothesis
from conformance.known.instead import Candidate
from conformance.known.programs import OF_ARITHMETIC, explaining
from conformance.tolerance.ulp import ulp_distances
from conformance.verdict import Element, Errors, Failing, Verdict, gravity
from reference.ir.program import Program, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.ops.structure import calls_target, is_constant, is_structure

FEW_SAMPLES = 4
"""Evaluations that are made first: what their hull takes in, that of all does too."""

_COUNTS = (FEW_SAMPLES, SAMPLES + 2)

MORE_SAMPLES = 64
"""Evaluations more for results that are found nowhere else, but near; these have no margin.

Where few operations are rounded, a rare combination may be all that moves a result: an error of the
last operation hides that of the one before in all but a quarter of the evaluations, say."""


def judge_program(permitted: Permitted, actual: Sequence[Array]) -> Judgement:
    """The judgement on a backend's results of a program, `permitted` being what they may be."""
    judgement = _judged(permitted, actual)
    if judgement.kind in MALFORMED:
        return judgement
    return by_mistake(permitted, actual, judgement)


def _judged(permitted: Permitted, actual: Sequence[Array]) -> Judgement:
    expected = permitted.expected
    total = sum(array.size for array in expected)
    bad = malformed(expected, actual)
    if bad is not None and bad[0] == element_types.LABEL:
        return judged_by_bits(expected, actual, partial(_judged, permitted))
    if bad is not None:
        return Judgement(Verdict.DIVERGENT, *bad, total, total, None, None, (), Errors())
    _differing(permitted, actual)
    judged = [judge_result(permitted, n, actual[n]) for n in range(len(expected))]
    return combine(judged) if judged else passed(0)


def by_mistake(permitted: Permitted, actual: Sequence[Array], judgement: Judgement) -> Judgement:
    """The judgement, with the class of what explains all results if there is such."""
    if judgement.verdict is not Verdict.DIVERGENT or not permitted.is_plain:
        return judgement
    other = computed_instead(permitted, actual)
    if other is None:
        return judgement
    return renamed(judgement, other.label, other.near(permitted.expected))


def computed_instead(permitted: Permitted, actual: Sequence[Array]) -> Candidate | None:
    """Return what may be computed in place of a program and permits all results, if anything."""
    program, inputs, platform = permitted.program, permitted.inputs, permitted.platform
    for other in explaining(program, inputs, actual, platform):
        there = Permitted(other.program, inputs, platform)
        if other.is_exact or _judged(there, other.actual).verdict is Verdict.PASS:
            return other
    return None


def passed(total: int) -> Judgement:
    """The judgement on a program of which all elements, so many, are permitted."""
    return Judgement(Verdict.PASS, "", "", 0, total, None, None, (), Errors())


def _differs(expected: object, actual: Array) -> bool:
    return isinstance(expected, np.ndarray) and not bool(equal_elements(expected, actual).all())


def in_doubt(permitted: Permitted, actual: Sequence[Array]) -> list[int]:
    """The results that are not as expected, nor within what a few evaluations come to."""
    return [n for n in _differing(permitted, actual) if not _is_reached(permitted, n, actual[n])]


def _differing(permitted: Permitted, actual: Sequence[Array]) -> list[int]:
    """Return the results that are not as expected, and leave the others out of evaluations."""
    numbers = [n for n, one in enumerate(permitted.expected) if _differs(one, actual[n])]
    permitted.only(numbers)
    return numbers


def _is_reached(permitted: Permitted, number: int, actual: Array) -> bool:
    hull = _Hull(permitted, number, actual)
    return any(bool(hull.moved(count).all()) for count in _COUNTS)


def differs_beyond_rounding(permitted: Permitted, actual: Sequence[Array]) -> bool:
    """Return whether any result is neither as expected nor within what evaluations come to.

    Results that are far from a few evaluations are told without more of them.
    """
    numbers = _differing(permitted, actual)
    if any(_is_far(permitted, number, actual[number]) for number in numbers):
        return True
    return not all(_is_reached(permitted, number, actual[number]) for number in numbers)


def by_distance(permitted: Permitted, actual: Sequence[Array]) -> list[int]:
    """Return the results that are not within what a few evaluations come to, far ones first."""
    numbers = _differing(permitted, actual)
    far = [number for number in numbers if _is_far(permitted, number, actual[number])]
    others = (number for number in numbers if number not in far)
    return far + [n for n in others if not _is_reached(permitted, n, actual[n])]


def _is_far(permitted: Permitted, number: int, actual: Array) -> bool:
    """Return whether a number is too far from a few evaluations for more of them to reach it."""
    hull = _Hull(permitted, number, actual)
    if not hull.is_number:
        return True
    reached = hull.moved(FEW_SAMPLES)
    with np.errstate(all="ignore"):
        finite = np.isfinite(hull.got - hull.want)
    return bool((finite & ~is_near(hull.samples, hull.got, hull.type) & ~reached).any())


def is_flushed(permitted: Permitted, actual: Sequence[Array], numbers: Sequence[int]) -> bool:
    """Whether subnormal numbers taken for zero explain all of the results of these numbers."""
    return all(_is_result_flushed(permitted, number, actual[number]) for number in numbers)


def _is_result_flushed(permitted: Permitted, number: int, actual: Array) -> bool:
    hull = _Hull(permitted, number, actual)
    hull.samples += hull.pick(permitted.moved())
    flushing = [one for one in OF_ARITHMETIC if one.flushes]
    return any(bool(answer[2].all()) for answer in _by_arithmetic(hull, flushing))


def judge_result(permitted: Permitted, number: int, actual: Array) -> Judgement:
    """The judgement on result `number`."""
    expected = permitted.expected[number]
    if not isinstance(expected, np.ndarray):
        return passed(0)
    hull = _Hull(permitted, number, actual)
    where, codes = hull.where, hull.findings()
    counts = Counter(codes)
    if not counts:
        return passed(expected.size)

    def failing(found: Finding, beside: str = "") -> Failing:
        chosen = where[[i for i, one in enumerate(codes) if one == found]]
        elements = tuple(_element(number, expected, actual, int(i)) for i in chosen[:SHOWN])
        message = of_elements(*found, len(chosen), expected.size, elements[0], beside)
        return Failing(*found, message, len(chosen), elements)

    worst = max(counts, key=lambda found: (found[0].severity, gravity(found[1]), counts[found]))
    if worst[0] is Verdict.PASS:
        return passed(expected.size)
    others = [one for one in counts if one != worst and one[0].severity == worst[0].severity]
    beside = "".join(f", {counts[verdict, kind]} more as {kind}" for verdict, kind in others)
    shown = failing(worst, beside)
    return Judgement(
        *worst, shown.message, shown.wrong, expected.size, None, None, shown.elements, Errors(),
        tuple(failing(one) for one in counts if one[0].fails),
    )  # fmt: skip


def permits(permitted: Permitted, number: int, other: Array) -> Array:
    """Which elements of an array are permitted for result `number`, a mask of its shape."""
    expected = permitted.expected[number]
    mask, hull = np.ones(expected.shape, np.bool_), _Hull(permitted, number, other)
    mask.reshape(-1)[hull.where] = [verdict is Verdict.PASS for verdict, _ in hull.findings()]
    return mask


class _Hull:
    """The elements of one result that differ, and the evaluations that they are compared with.

    `where` are their flat indices, `got` what the backend returned; `samples` grow as they are
    made, since no more is evaluated than it takes to explain every element.
    """

    def __init__(self, permitted: Permitted, number: int, actual: Array) -> None:
        """Take the expected elements as the first sample."""
        expected = permitted.expected[number]
        self.permitted, self.number = permitted, number
        self.where = np.flatnonzero(~equal_elements(expected, actual))
        self.want, self.got = (one.reshape(-1)[self.where] for one in (expected, actual))
        self.type = element_type_of(self.want)
        self.is_number = self.type.is_float or self.type.is_complex
        self.samples: list[Array] = [self.want]

    def pick(self, sets: Sequence[Values]) -> list[Array]:
        """The elements of these sets of results."""
        return [results[self.number].reshape(-1)[self.where] for results in sets]

    def moved(self, count: int) -> Array:
        """Which elements lie within so many evaluations that move results; the samples, then."""
        self.samples = [self.want, *self.pick(self.permitted.moved(count))]
        if not self.is_number:
            return np.zeros(self.got.shape, np.bool_)
        return self.within(self.samples)

    def within(self, samples: Sequence[Array], margin: float | None = None) -> Array:
        """Which elements lie within the samples, and the usual margin around them unless given."""
        if margin is None:
            return within(samples, self.got, self.type)
        return within(samples, self.got, self.type, margin=margin)

    def findings(self) -> list[Finding]:
        """A verdict and a class for every element."""
        if not self.where.size:
            return []
        return ask(_QUESTIONS, self, len(self.where)).all()


def _reached_by_moving(hull: _Hull) -> Answer:
    for count in _COUNTS:
        yield Verdict.PASS, "", hull.moved(count)
    if not hull.is_number:
        varying = np.any([sample != hull.want for sample in hull.samples], axis=0)
        yield Verdict.UNSPECIFIED, "depends on rounding", varying


def _reached_by_more(hull: _Hull) -> Answer:
    if not hull.is_number:
        return
    near = is_near(hull.samples, hull.got, hull.type) & ~hull.within(hull.samples)
    if not near.any() or hull.permitted.has_all_moves:
        return
    for count in range(MORE_SAMPLES // 4, MORE_SAMPLES + 1, MORE_SAMPLES // 4):
        samples = [*hull.samples, *hull.pick(hull.permitted.more(count))]
        reached = hull.within(samples, margin=0.0)
        yield Verdict.PASS, "", reached
        if not (near & ~reached).any():
            return


def _depends_on_choices(hull: _Hull) -> Answer:
    if others := hull.pick(hull.permitted.chosen()):
        outside = [
            ~within(hull.samples, one, hull.type) if hull.is_number else one != hull.want
            for one in others
        ]
        yield Verdict.UNSPECIFIED, hull.permitted.choices[0], np.any(outside, axis=0)


def _depends_on_what_is_open(hull: _Hull) -> Answer:
    if filled := hull.pick(hull.permitted.filled()):
        varying = ~np.all([equal_elements(hull.want, sample) for sample in filled], axis=0)
        yield Verdict.UNSPECIFIED, hull.permitted.reasons[0], varying


def _by_arithmetic(hull: _Hull, hypotheses: Sequence[Hypothesis] = OF_ARITHMETIC) -> Answer:
    """Explained by another arithmetic in whatever operations."""
    for one in hypotheses:
        if others := hull.pick(hull.permitted.by(one)):
            if not hull.is_number:
                mask = np.any([hull.got == other for other in others], axis=0)
            else:  # what is flushed in some operations alone lies between
                mask = hull.within([*others, *(hull.samples if one.flushes else [hull.want])])
            yield Verdict.FLUSHED if one.flushes else Verdict.DIVERGENT, one.label, mask


def _wrong(hull: _Hull) -> Answer:
    if hull.is_number:
        for mask, verdict, kind in failures(hull.samples, hull.got, hull.type):
            yield verdict, kind, mask
    yield Verdict.DIVERGENT, "wrong value", np.ones(len(hull.where), np.bool_)


_QUESTIONS: tuple[Question[_Hull], ...] = (
    _reached_by_moving,
    _reached_by_more,
    _depends_on_choices,
    _depends_on_what_is_open,
    _by_arithmetic,
    _wrong,
)


def _element(number: int, expected: Array, actual: Array, flat: int) -> Element:
    index = tuple(int(i) for i in np.unravel_index(flat, expected.shape))
    want, got = (array.reshape(-1)[flat : flat + 1] for array in (expected, actual))
    of = element_type_of(want)
    distance = ulp_distances(want, got)[0] if of.is_float or of.is_complex else np.inf
    ulp = float(distance) if np.isfinite(distance) else None
    return Element(
        number, index, decimal(want), hexadecimal(want), decimal(got), hexadecimal(got), ulp
    )


def is_single(program: Program) -> bool:
    """Whether a program is one operation on parameters and constants, with an op's own rule.

    A custom call has none: it is judged as any program is.
    """
    working = [o for o in program.main.body.operations[:-1] if not is_constant(o)]
    if len(working) != 1 or len(program.functions) != 1:
        return False
    operation, end = working[0], program.main.body.operations[-1]
    last = program.subject is operation
    return (
        last
        and end.operands == operation.results
        and not is_structure(operation)
        and not calls_target(operation)
        and rule_of(operation) is not None
        and not any(isinstance(v.type, TensorType) is False for v in operation.results)
    )

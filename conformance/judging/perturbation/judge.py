"""Judgement of programs of several operations by perturbed evaluation.

The reference evaluates the program again and again, each time with all intermediate results moved
within their tolerances: in random directions, or all in one direction. The hull of the results,
with a margin, is permitted.

If no operation rounds, no result moves, and results are judged bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from conformance.catalog import rule_of
from conformance.judging import element_types
from conformance.judging.compare import MAX_ELEMENTS, describe_malformed, judge_bits
from conformance.judging.differences import decimal, hexadecimal
from conformance.judging.judgement import Judgement, combine, passing_judgement
from conformance.judging.messages import elements_message, other_classes
from conformance.judging.perturbation.evaluations import SAMPLES, PermittedResults
from conformance.judging.perturbation.hook import Values
from conformance.judging.perturbation.hull import (
    failure_answers,
    is_near,
    is_within,
    narrow_limit,
)
from conformance.judging.questions import Answer, Question, VerdictClass, ask, split_label
from conformance.judging.sets.value_set import ValueSet
from conformance.known.hypothesis import Arithmetic
from conformance.tolerance.ulp import ulp_distances
from conformance.transforms.values import working_operations
from conformance.verdict import Element, Errors, Failing, Verdict, gravity
from reference.ir.program import Program, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.ops.structure import calls_target, is_structure

FEW_SAMPLES = 4
"""Evaluations made first; the hull of all evaluations contains theirs."""

_COUNTS = (FEW_SAMPLES, SAMPLES + 2)

MORE_SAMPLES = 64
"""Further evaluations for results near the hull; these have no margin.

Where few operations round, only a rare combination may move a result. For example the last
operation's error hides the previous operation's in three quarters of the evaluations."""


def judge_program(permitted: PermittedResults, actual: Sequence[Array]) -> Judgement:
    """Judge a backend's results of a program by its permitted results."""
    expected = permitted.expected
    total = sum(array.size for array in expected)
    bad = describe_malformed(expected, actual)
    if bad is not None and bad[0] == element_types.LABEL:
        return judge_bits(expected, actual, partial(judge_program, permitted))
    if bad is not None:
        return Judgement(Verdict.DIVERGENT, *bad, total, total)
    _differing_results(permitted, actual)
    judged = [judge_result(permitted, n, actual[n]) for n in range(len(expected))]
    return combine(judged) if judged else passing_judgement(0)


def is_different(expected: object, actual: Array) -> bool:
    """Return whether elements differ from the expected; a token never differs."""
    return isinstance(expected, np.ndarray) and not bool(equal_elements(expected, actual).all())


def unreached_results(permitted: PermittedResults, actual: Sequence[Array]) -> list[int]:
    """Return the results that a few evaluations do not reach."""
    return [
        n for n in _differing_results(permitted, actual) if not _is_reached(permitted, n, actual[n])
    ]


def _differing_results(permitted: PermittedResults, actual: Sequence[Array]) -> list[int]:
    """Return the results that differ from the expected, and restrict evaluations to them."""
    numbers = [n for n, one in enumerate(permitted.expected) if is_different(one, actual[n])]
    permitted.restrict_to(numbers)
    return numbers


def _is_reached(permitted: PermittedResults, number: int, actual: Array) -> bool:
    hull = _Hull(permitted, number, actual)
    reached = any(bool(hull.is_moved(count).all()) for count in _COUNTS)
    return reached and not hull.find_impossible(np.ones(hull.got.shape, np.bool_)).any()


def is_beyond_rounding(permitted: PermittedResults, actual: Sequence[Array]) -> bool:
    """Return whether any result is neither as expected nor reached by evaluations.

    Results far from a few evaluations need no further evaluations.
    """
    numbers = _differing_results(permitted, actual)
    if any(_is_far(permitted, number, actual[number]) for number in numbers):
        return True
    return not all(_is_reached(permitted, number, actual[number]) for number in numbers)


def unreached_by_distance(permitted: PermittedResults, actual: Sequence[Array]) -> list[int]:
    """Return the results that a few evaluations do not reach, farthest first."""
    numbers = _differing_results(permitted, actual)
    far = [number for number in numbers if _is_far(permitted, number, actual[number])]
    others = (number for number in numbers if number not in far)
    return far + [n for n in others if not _is_reached(permitted, n, actual[n])]


def _is_far(permitted: PermittedResults, number: int, actual: Array) -> bool:
    """Return whether result `number` is too far from a few evaluations for further evaluations to
    reach it.
    """
    hull = _Hull(permitted, number, actual)
    if not hull.is_number:
        return True
    reached = hull.is_moved(FEW_SAMPLES)
    with np.errstate(all="ignore"):
        finite = np.isfinite(hull.got - hull.want)
    return bool((finite & ~is_near(hull.samples, hull.got, hull.type) & ~reached).any())


def is_flushed(
    permitted: PermittedResults, actual: Sequence[Array], numbers: Sequence[int]
) -> bool:
    """Return whether flushed subnormals explain all of the results in `numbers`."""
    return all(_is_result_flushed(permitted, number, actual[number]) for number in numbers)


def _is_result_flushed(permitted: PermittedResults, number: int, actual: Array) -> bool:
    hull = _Hull(permitted, number, actual)
    hull.samples += hull.pick(permitted.moved_samples())
    answers = _find_other_arithmetic(hull, (Arithmetic.FLUSHED,))
    return any(bool(answer[2].all()) for answer in answers)


def judge_result(permitted: PermittedResults, number: int, actual: Array) -> Judgement:
    """Judge result `number` of a program."""
    expected = permitted.expected[number]
    if not isinstance(expected, np.ndarray):
        return passing_judgement(0)
    hull = _Hull(permitted, number, actual)
    where, codes = hull.where, hull.findings()
    counts = Counter(codes)
    if not counts:
        return passing_judgement(expected.size)

    def failing_class(found: VerdictClass, beside: str = "") -> Failing:
        chosen = where[[i for i, code in enumerate(codes) if code == found]]
        elements = tuple(_element(number, expected, actual, int(i)) for i in chosen[:MAX_ELEMENTS])
        detail = split_label(Arithmetic.FLUSHED.value)[1] if found[0] is Verdict.FLUSHED else ""
        message = elements_message(*found, len(chosen), expected.size, elements[0], beside, detail)
        return Failing(*found, message, len(chosen), elements)

    worst = max(counts, key=lambda found: (found[0].severity, gravity(found[1]), counts[found]))
    if worst[0] is Verdict.PASS:
        return passing_judgement(expected.size)
    behind = {one: n for one, n in counts.items() if one[0].severity == worst[0].severity}
    others = {one[1]: n for one, n in behind.items() if one != worst}
    shown = failing_class(worst, other_classes(others))
    return Judgement(
        *worst, shown.message, sum(behind.values()), expected.size, None, None, shown.elements,
        Errors(), tuple(failing_class(count) for count in counts if count[0].fails),
    )  # fmt: skip


def permitted_elements(permitted: PermittedResults, number: int, other: Array) -> Array:
    """Return a mask of the elements of `other` that are permitted for result `number`."""
    expected = permitted.expected[number]
    mask, hull = np.ones(expected.shape, np.bool_), _Hull(permitted, number, other)
    mask.reshape(-1)[hull.where] = [verdict is Verdict.PASS for verdict, _ in hull.findings()]
    return mask


class _Hull:
    """The differing elements of one result, and the evaluations to compare them with.

    `where` has their flat indices, `got` the backend's elements. `samples` grow on demand, since
    every evaluation costs time.
    """

    def __init__(self, permitted: PermittedResults, number: int, actual: Array) -> None:
        """Begin with a single sample, the expected elements."""
        expected = permitted.expected[number]
        self.permitted, self.number, self.actual = permitted, number, actual
        self.where = np.flatnonzero(~equal_elements(expected, actual))
        self.want, self.got = (one.reshape(-1)[self.where] for one in (expected, actual))
        self.type = element_type_of(self.want)
        self.is_number = self.type.is_float or self.type.is_complex
        self.samples: list[Array] = [self.want]

    def pick(self, sets: Sequence[Values]) -> list[Array]:
        """Return the differing elements' values in each set of results."""
        return [results[self.number].reshape(-1)[self.where] for results in sets]

    def is_moved(self, count: int) -> Array:
        """Return a mask of elements in the hull of `count` evaluations that move results.

        These evaluations become the samples.
        """
        self.samples = [self.want, *self.pick(self.permitted.moved_samples(count))]
        if not self.is_number:
            return np.zeros(self.got.shape, np.bool_)
        return self.is_within(self.samples)

    def is_within(self, samples: Sequence[Array], margin: float | None = None) -> Array:
        """Return a mask of elements in the hull of the samples with a margin, `MARGIN` by
        default.
        """
        if margin is None:
            return is_within(samples, self.got, self.type)
        return is_within(samples, self.got, self.type, margin=margin)

    def findings(self) -> list[VerdictClass]:
        """Return a verdict and a class for every element."""
        if not self.where.size:
            return []
        found = ask(_QUESTIONS, self, len(self.where)).per_element()
        permitted = np.array([not verdict.fails for verdict, _ in found])
        impossible = self.find_impossible(permitted)
        if not impossible.any():
            return found
        others = ask(_OF_IMPOSSIBLE, self, len(self.where)).per_element()
        pairs = zip(found, others, impossible, strict=True)
        return [other if is_outside else one for one, other, is_outside in pairs]

    def find_impossible(self, among: Array) -> Array:
        """Return a mask of elements that no execution gives, among those in the mask.

        They are outside of the program's set, or of a row that is no permutation.
        """
        return among & (self.is_outside(self.got) | self.is_lost()) if among.any() else among

    @property
    def permitted_set(self) -> ValueSet | None:
        """The set of the result's values; None if the program cannot be followed on sets."""
        sets = self.permitted.sets
        return None if sets is None else sets[self.number]

    def is_outside(self, values: Array) -> Array:
        """Return a mask of values of these elements that the program's set does not hold."""
        permitted = self.permitted_set
        if permitted is None:
            return np.zeros(values.shape, np.bool_)
        return ~permitted.at(self.where).holds(values)

    def is_lost(self) -> Array:
        """Return a mask of elements in a row that should be a permutation and is not."""
        permitted = self.permitted_set
        if permitted is None or permitted.permuted is None:
            return np.zeros(self.got.shape, np.bool_)
        return permitted.permuted.lost(self.actual).reshape(-1)[self.where]

    def is_close_to(self, other: Array) -> Array:
        """Return a mask of the elements that differ from another array's by a few ulp."""
        if not self.is_number:
            return np.asarray(self.got == other)
        limit = narrow_limit(self.type)
        return equal_elements(self.got, other) | (ulp_distances(other, self.got) <= limit)


def _find_moved(hull: _Hull) -> Answer:
    for count in _COUNTS:
        yield Verdict.PASS, "", hull.is_moved(count)
    if not hull.is_number:
        varying = np.any([sample != hull.want for sample in hull.samples], axis=0)
        yield Verdict.UNSPECIFIED, "depends on rounding", varying


def _find_moved_further(hull: _Hull) -> Answer:
    if not hull.is_number:
        return
    near = is_near(hull.samples, hull.got, hull.type) & ~hull.is_within(hull.samples)
    if not near.any() or hull.permitted.has_all_moves:
        return
    for count in range(MORE_SAMPLES // 4, MORE_SAMPLES + 1, MORE_SAMPLES // 4):
        samples = [*hull.samples, *hull.pick(hull.permitted.additional_samples(count))]
        reached = hull.is_within(samples, margin=0.0)
        yield Verdict.PASS, "", reached
        if not (near & ~reached).any():
            return


def _find_unspecified_dependent(hull: _Hull) -> Answer:
    if filled := hull.pick(hull.permitted.filled_samples()):
        varying = ~np.all([equal_elements(hull.want, sample) for sample in filled], axis=0)
        yield Verdict.UNSPECIFIED, hull.permitted.reasons[0], varying


def _find_other_arithmetic(
    hull: _Hull, arithmetics: Sequence[Arithmetic] = tuple(Arithmetic)
) -> Answer:
    """Yield elements explained by another arithmetic in some operations."""
    for arithmetic in arithmetics:
        if others := hull.pick(hull.permitted.arithmetic_samples(arithmetic)):
            if not hull.is_number:
                mask = np.any([hull.got == other for other in others], axis=0)
            else:  # flushing in some operations only lies between
                mask = hull.is_within(
                    [*others, *(hull.samples if arithmetic.flushes else [hull.want])]
                )
            yield (
                Verdict.FLUSHED if arithmetic.flushes else Verdict.DIVERGENT,
                arithmetic.value,
                mask,
            )


def _find_wrong(hull: _Hull) -> Answer:
    if hull.is_number:
        for mask, verdict, kind in failure_answers(hull.samples, hull.got, hull.type):
            yield verdict, kind, mask
        if hull.permitted.may_round:  # exact only for these inputs
            yield Verdict.INACCURATE, "accuracy", is_near(hull.samples, hull.got, hull.type)
    yield Verdict.DIVERGENT, "wrong value", np.ones(len(hull.where), np.bool_)


_QUESTIONS: tuple[Question[_Hull], ...] = (
    _find_moved,
    _find_moved_further,
    _find_unspecified_dependent,
    _find_other_arithmetic,
    _find_wrong,
)


def _find_arithmetic_of_impossible(hull: _Hull) -> Answer:
    """Yield elements that another arithmetic gives, and no execution in the right one."""
    for one in Arithmetic:
        for other in hull.pick(hull.permitted.arithmetic_samples(one)):
            mask = hull.is_close_to(other) & hull.is_outside(other)
            yield Verdict.FLUSHED if one.flushes else Verdict.DIVERGENT, one.value, mask


def _find_impossible(hull: _Hull) -> Answer:
    yield Verdict.DIVERGENT, "no possible order", hull.is_lost()
    if hull.is_number:
        for mask, verdict, kind in failure_answers([hull.want], hull.got, hull.type):
            yield verdict, kind, mask
        reached = [hull.is_close_to(sample) for sample in hull.samples]
        yield Verdict.INACCURATE, "accuracy", np.any(reached, axis=0)
    yield Verdict.DIVERGENT, "wrong value", np.ones(len(hull.where), np.bool_)


_OF_IMPOSSIBLE: tuple[Question[_Hull], ...] = (_find_arithmetic_of_impossible, _find_impossible)
"""Questions about elements outside of what the program may give."""


def _element(number: int, expected: Array, actual: Array, flat: int) -> Element:
    index = tuple(int(i) for i in np.unravel_index(flat, expected.shape))
    want, got = (array.reshape(-1)[flat : flat + 1] for array in (expected, actual))
    element_type = element_type_of(want)
    distance = (
        ulp_distances(want, got)[0] if element_type.is_float or element_type.is_complex else np.inf
    )
    ulp = float(distance) if np.isfinite(distance) else None
    return Element(
        number, index, decimal(want), hexadecimal(want), decimal(got), hexadecimal(got), ulp
    )


def is_single(program: Program) -> bool:
    """Return whether a program is one operation on parameters and constants, judged by a rule.

    Custom calls have no rule and are judged as programs.
    """
    working = working_operations(program)
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

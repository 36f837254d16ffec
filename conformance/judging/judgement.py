"""Judgements on results, and their combination."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from conformance.judging.digests import combine_digests
from conformance.judging.messages import common_message, flushed_message
from conformance.judging.questions import VerdictClass, split_label
from conformance.verdict import Element, Errors, Failing, Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on the results of one run, found by comparing them with the expected results.

    It ignores expectations and does not contain the program: `Outcome` and `Record` add these.

    `wrong` counts the elements behind the verdict, `total` all elements of all results. `worst_ulp`
    is the largest error of a permitted or inaccurate element, `budget_ulp` the largest that is
    permitted; both are None where the rule has no budget. `failing` has the failing elements by
    verdict and kind, including kinds milder than the verdict. `digest` is the digest of these
    elements (conformance/judging/digests.py).
    """

    verdict: Verdict
    kind: str
    message: str
    wrong: int
    total: int
    worst_ulp: float | None = None
    budget_ulp: float | None = None
    elements: tuple[Element, ...] = ()
    errors: Errors = field(default_factory=Errors)
    failing: tuple[Failing, ...] = ()
    digest: bytes = b""

    @property
    def findings(self) -> tuple[VerdictClass, ...]:
        """Verdicts and kinds of all failing elements."""
        return tuple((one.verdict, one.kind) for one in self.failing)

    @property
    def wrong_classes(self) -> set[str]:
        """The classes of elements that are wrong even if subnormal numbers are zero."""
        return {failure.kind for failure in self.failures if failure.verdict is not Verdict.FLUSHED}

    @property
    def failures(self) -> tuple[Failing, ...]:
        """All failures; the whole judgement where results cannot be compared by elements."""
        if self.failing or not self.verdict.fails:
            return self.failing
        return (Failing(self.verdict, self.kind, self.message, self.wrong, self.elements),)


@dataclass(frozen=True, slots=True)
class SetJudgements:
    """The judgements on the results of a program on each of its input sets.

    `whole` is all of them combined.
    """

    each: Sequence[Judgement]
    whole: Judgement

    @property
    def worst_set(self) -> int:
        """The number of the first input set with the severest verdict."""
        return [one.verdict for one in self.each].index(self.whole.verdict)


def passing_judgement(total: int) -> Judgement:
    """Return the judgement on results whose elements, `total` in number, are all permitted."""
    return Judgement(Verdict.PASS, "", "", 0, total)


def add_causes(judgement: Judgement, kinds: Collection[str], causes: tuple[str, ...]) -> Judgement:
    """Return the judgement with the rewritings that explain its failures of some classes."""
    failing = tuple(
        replace(failure, causes=causes, predicted=failure.wrong)
        if failure.kind in kinds
        else failure
        for failure in judgement.failures
    )
    return replace(judgement, failing=failing)


def mark_flushed(judgement: Judgement, kinds: Collection[str], kind: str) -> Judgement:
    """Return the judgement with the failures of `kinds` as flushed, by a label of that class."""
    kind, detail = split_label(kind)
    failing = merge_failing(
        [
            replace(
                failure,
                verdict=Verdict.FLUSHED,
                kind=kind,
                message=flushed_message(failure, detail),
                predicted=failure.wrong,
            )
            if failure.kind in kinds
            else failure
            for failure in judgement.failures
        ]
    )
    shown = max(failing, key=lambda one: one.verdict.severity)
    return replace(
        judgement, verdict=shown.verdict, kind=shown.kind, message=shown.message,
        wrong=shown.wrong, elements=shown.elements, failing=failing,
    )  # fmt: skip


def collapse_failing(judgement: Judgement, predicted: int = 0) -> Judgement:
    """Return the judgement with a single failure of its own verdict and class."""
    failing = judgement.failing
    wrong = max(judgement.wrong, sum(one.wrong for one in failing))
    one = Failing(
        judgement.verdict, judgement.kind, judgement.message, wrong, judgement.elements,
        largest_error(each.worst_ulp for each in failing), predicted=min(predicted, wrong),
    )  # fmt: skip
    return replace(judgement, failing=(one,))


def largest_error(errors: Iterable[float | None]) -> float | None:
    """Return the largest error that is known, or None if none is."""
    return max((error for error in errors if error is not None), default=None)


def combine(judgements: Sequence[Judgement]) -> Judgement:
    """Combine judgements on several results or input sets.

    The worst verdict is the result; elements and errors of all are counted.
    """
    severest = max(judgements, key=lambda j: j.verdict.severity)  # the first of the worst
    errors, message = Errors(), severest.message
    for judgement in judgements:
        errors = merge_errors(errors, judgement.errors)
    failing = merge_failing([failure for judgement in judgements for failure in judgement.failures])
    for one in failing:
        if (one.verdict, one.kind) == (severest.verdict, severest.kind):
            message = common_message(message, one.message)
    return Judgement(
        severest.verdict,
        severest.kind,
        message,
        sum(j.wrong for j in judgements if j.verdict is severest.verdict),
        sum(j.total for j in judgements),
        largest_error(j.worst_ulp for j in judgements),
        largest_error(j.budget_ulp for j in judgements),
        severest.elements,
        errors,
        failing,
        combine_digests(judgement.digest for judgement in judgements),
    )


def merge_failing(failing: Sequence[Failing]) -> tuple[Failing, ...]:
    """Merge failures of the same verdict, class and causes; the first of each supplies the message.

    Those that rewritings explain stay apart from those that nothing explains. The message does not
    say which numbers are flushed if the failures differ in that.
    """
    found: dict[tuple[Verdict, str, tuple[str, ...]], Failing] = {}
    for one in failing:
        key = one.verdict, one.kind, one.causes
        before = found.get(key)
        if before is not None:
            worst = largest_error((before.worst_ulp, one.worst_ulp))
            wrong, predicted = before.wrong + one.wrong, before.predicted + one.predicted
            message = common_message(before.message, one.message)
            one = replace(
                before, message=message, wrong=wrong, worst_ulp=worst, predicted=predicted
            )
        found[key] = one
    return tuple(found.values())


WORST_POINTS, SAMPLED_POINTS = 100, 200


def merge_errors(left: Errors, right: Errors) -> Errors:
    """Merge two error statistics, independent of the order of merging.

    Counts add up, points stay bounded: the worst hundred points stay, and of the others the two
    hundred with the smallest hash of their input. So the sample does not depend on the order.
    """
    merged = Errors([a + b for a, b in zip(left.histogram, right.histogram, strict=True)])
    points = list(dict.fromkeys((*left.points, *right.points)))
    if len(points) > WORST_POINTS + SAMPLED_POINTS:
        points.sort(key=lambda p: (-abs(p[1]), p))
        rest = sorted(points[WORST_POINTS:], key=lambda p: (hash(p[0]), p))
        points = points[:WORST_POINTS] + rest[:SAMPLED_POINTS]
    merged.points = sorted(points)
    return merged

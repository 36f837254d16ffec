"""Comparison: a backend's results against the reference's, element by element, to a verdict.

The common case, all bits equal, costs two views and one comparison. Only the elements that differ
are looked at further (conformance/judging/classify.py), each by the same questions in the same
order: is it within the budget, does the specification leave it open, does another reading of the
text give it, is it explained by subnormals flushed to zero, and if none of these, what went wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging import element_types
from conformance.judging.classify import find, outside_accuracy
from conformance.judging.differences import Differing
from conformance.judging.processes import parts_of
from conformance.judging.questions import Finding, Findings
from conformance.judging.together import Operands, Together, tracer
from conformance.judging.wording import of_elements
from conformance.known.any_op import of_any_op
from conformance.known.hypothesis import Hypothesis
from conformance.known.in_force import hypotheses_of, in_force
from conformance.known.instead import Candidate, rewritten_by
from conformance.known.programs import explaining
from conformance.known.table import known_of
from conformance.known.xla import other_types
from conformance.tolerance.rule import Measure, Rule
from conformance.tolerance.rules import DATA
from conformance.tolerance.stated import as_stated
from conformance.tolerance.ulp import error_points, histogram_of
from conformance.transforms.collective import collective_of
from conformance.transforms.inline import with_plain_bodies
from conformance.transforms.values import can_be_result, elements, folded
from conformance.verdict import Element, Errors, Failing, Verdict, gravity
from reference.ir.program import Operation, Program
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.alike import equal_elements
from reference.ops.xla.lowering import lower_program

SHOWN = 8
"""How many differing elements a judgement keeps."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one set of results: what `judge` found.

    `wrong` counts the elements behind the verdict, `total` all elements of all results.
    `worst_ulp` is the largest error of a permitted or inaccurate element, `budget_ulp` what it
    may be; both None where the rule has no budget.
    `failing` are all elements that fail, by verdict and kind, milder ones than the verdict too.
    """

    verdict: Verdict
    kind: str
    message: str
    wrong: int
    total: int
    worst_ulp: float | None
    budget_ulp: float | None
    elements: tuple[Element, ...]
    errors: Errors
    failing: tuple[Failing, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The verdicts and kinds of all elements that fail."""
        return tuple((one.verdict, one.kind) for one in self.failing)

    @property
    def failures(self) -> tuple[Failing, ...]:
        """All that fails: of results that cannot be told apart by elements, the whole."""
        if self.failing or not self.verdict.fails:
            return self.failing
        return (Failing(self.verdict, self.kind, self.message, self.wrong, self.elements),)


_WRONG = (Verdict.DIVERGENT, Verdict.INACCURATE)

MALFORMED = (
    "missing result", element_types.LABEL, "wrong element type", "wrong shape", other_types.BYTES,
)  # fmt: skip
"""The classes of results that are not of the stated number, types and shapes."""


def malformed(expected: Sequence[Array], actual: Sequence[Array]) -> tuple[str, str] | None:
    """Kind and message when the results are not even of the right number, types and shapes."""
    if len(actual) != len(expected):
        return "missing result", f"{len(expected)} results expected, got {len(actual)}"
    for number, (want, got) in enumerate(zip(expected, actual, strict=True)):
        if got.shape != want.shape:
            return "wrong shape", (
                f"result {number}: shape {list(want.shape)} expected, got {list(got.shape)}"
            )
    pairs = list(zip(expected, actual, strict=True))
    for number, (want, got) in enumerate(pairs):
        if got.dtype != want.dtype:
            bits = all(element_types.is_unsigned(*pair) for pair in pairs)
            return (
                element_types.LABEL if bits else "wrong element type",
                f"result {number}: {element_type_of(want)} expected, got {got.dtype.name}",
            )
    return None


def judged_by_bits(
    expected: Sequence[Array],
    actual: Sequence[Array],
    judged: Callable[[Sequence[Array]], Judgement],
) -> Judgement:
    """Judge the bits of results of unsigned types by `judged`, and add that their types differ."""
    pairs = zip(expected, actual, strict=True)
    wrong = sum(got.size for want, got in pairs if got.dtype != want.dtype)
    kind, message = malformed(expected, actual) or ("", "")
    types = Judgement(Verdict.DIVERGENT, kind, message, wrong, 0, None, None, (), Errors())
    stated = element_types.as_stated(expected, actual)
    near = sum(
        int(equal_elements(want, same).sum())
        for want, got, same in zip(expected, actual, stated, strict=True)
        if got.dtype != want.dtype
    )
    return combine([judged(stated), as_one(types, near)])


def judge(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    rule: Rule,
    *,
    platform: str = "cpu",
) -> Judgement:
    """Judge a backend's results of a program on one set of inputs.

    `expected` are the reference's results; `platform` chooses between figures of the rule. Where
    the operation states how accurate it is to be, that is what it is judged by.
    """
    program = lower_program(program)
    rule = as_stated(program.subject, rule.on(platform))
    total = sum(array.size for array in expected)
    bad = malformed(expected, actual)
    if bad is not None and bad[0] == element_types.LABEL:
        return judged_by_bits(
            expected,
            actual,
            lambda stated: judge(program, inputs, expected, stated, rule, platform=platform),
        )
    if bad is not None:
        exact = _explaining_exactly(program, inputs, actual, platform)
        other = next(rewritten_by(other_types.rewrite, program, inputs, actual), None)
        if other is not None:
            judged = judge(
                other.program, inputs, other.expected, other.actual, rule, platform=platform
            )
            if exact is None or not judged.verdict.fails:  # memory may be right by chance
                return _of_other_types(judged, other, bad)
        kind, message = bad if exact is None else (exact.label, f"{exact.label}: {bad[1]}")
        whole = Judgement(Verdict.DIVERGENT, kind, message, total, total, None, None, (), Errors())
        return as_one(whole, 0 if exact is None else exact.near())
    program = with_plain_bodies(program)
    collective = collective_of(program)
    if program.process_count > 1 or collective is not None:
        if collective is not None and collective is not program.subject:  # in some construct
            rule = (rule_of(collective) or rule).on(platform)
        return _in_either_order(program, inputs, expected, actual, rule, platform)
    together = Together(rule, tracer(program, inputs), tuple(expected), tuple(actual))
    numbers = range(len(expected))
    parts = [_judge_result(program, number, rule, platform, together) for number in numbers]
    if not parts:
        return _nothing()
    judgement = parts[0] if len(parts) == 1 else combine(parts)
    if judgement.verdict is not Verdict.DIVERGENT:
        return judgement
    exact = _explaining_exactly(program, inputs, actual, platform)
    return judgement if exact is None else renamed(judgement, exact.label, exact.near(expected))


def _explaining_exactly(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array], platform: str
) -> Candidate | None:
    """Return what gives just these results in place of a program, None where nothing does."""
    found = explaining(program, inputs, actual, platform)
    return next((one for one in found if one.is_exact), None)


def _of_other_types(judged: Judgement, other: Candidate, bad: tuple[str, str]) -> Judgement:
    """Return what was judged by what is computed in the results' types, and that these are not the
    stated ones."""
    wrong = sum(got.size for got in other.actual)
    kind, message = bad
    kind = other_types.BYTES if kind == "wrong shape" else kind
    types = Judgement(Verdict.DIVERGENT, kind, message, wrong, 0, None, None, (), Errors())
    return combine([judged, as_one(types, other.near())])


def judge_alone(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    platform: str = "cpu",
) -> Judgement:
    """Judge results of a program of one operation by that op's own rule, which it must have."""
    rule = rule_of(program.subject)
    assert rule is not None
    return judge(program, inputs, expected, actual, rule, platform=platform)


def _in_either_order(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    rule: Rule,
    platform: str,
) -> Judgement:
    """The judgement on the results of all processes.

    What is wrong, but right if process groups were others, has a class that says so.
    """
    judgement = _judge_processes(program, inputs, expected, actual, rule, platform)
    if judgement.verdict not in _WRONG:
        return judgement
    for other in explaining(program, inputs, actual, platform):
        again = _judge_processes(
            other.program, inputs, other.expected, other.actual, rule, platform
        )
        known = known_of(collective_of(other.program) or other.program.subject, platform)
        labels = {one.label for one in known}
        if all(one.kind in labels or one.verdict not in _WRONG for one in again.failing):
            if again.verdict not in _WRONG:
                return renamed(judgement, other.label, other.near(expected))
            return replace(again, message=f"{again.message}; and {other.label}")
    return judgement


def renamed(judgement: Judgement, kind: str, predicted: int = 0) -> Judgement:
    """The judgement with the class of a mistake that explains all results, if there is one.

    `predicted` counts the elements that are within `NEAR` ulp of what the mistake gives.
    """
    if not kind:
        return judgement
    message = judgement.message.replace(judgement.kind, kind, 1)
    # however near the numbers are: they are those of another process
    one = replace(judgement, verdict=Verdict.DIVERGENT, kind=kind, message=message)
    return as_one(one, predicted)


def as_one(judgement: Judgement, predicted: int = 0) -> Judgement:
    """The judgement, all that fails being of its verdict and class."""
    failing = judgement.failing
    wrong = max(judgement.wrong, sum(one.wrong for one in failing))
    one = Failing(
        judgement.verdict, judgement.kind, judgement.message, wrong, judgement.elements,
        _largest(each.worst_ulp for each in failing), predicted=min(predicted, wrong),
    )  # fmt: skip
    return replace(judgement, failing=(one,))


def _largest(errors: Iterable[float | None]) -> float | None:
    """The largest of those that are known, None where none is."""
    return max((one for one in errors if one is not None), default=None)


def _judge_processes(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    rule: Rule,
    platform: str,
) -> Judgement:
    """One judgement for the results of all processes, each judged as one process's."""
    judged: list[Judgement] = []
    for number, part in enumerate(parts_of(program, inputs, expected, actual)):
        own = DATA if part.is_data else rule
        given = (part.program, part.inputs, part.expected, part.actual, own)
        with in_force(()):  # what the backend computes in place of `reduce` is not of a collective
            alone = judge(*given, platform=platform)
        elements = tuple(replace(element, result=number) for element in alone.elements)
        judged.append(replace(alone, total=part.expected[0].size, elements=elements))
    return combine(judged) if judged else _nothing()


def _nothing() -> Judgement:
    """The judgement where nothing comes out that could be wrong."""
    return Judgement(Verdict.PASS, "", "", 0, 0, None, None, (), Errors())


def _giver(
    program: Program, number: int, together: Together
) -> tuple[Operation, tuple[Array, ...], int]:
    """The operation that gives result `number` of main, its operands, and which of its results.

    That is the last one; a result of an earlier one counts as handed on by a barrier.
    """
    operation, values = together.operands()
    *_, end = program.main.body.operations
    value = end.operands[number]
    names = [result.name for result in operation.results]
    if value.name in names:
        return operation, values, names.index(value.name)
    handed_on = Operation("optimization_barrier", (value,), (value,))
    return handed_on, (together.expected[number],), 0


def _is_handed_on(program: Program, operation: Operation) -> bool:
    """Whether what gives a result is not the operation that a program is about."""
    return operation.name != program.subject.name


def _hypotheses(program: Program, operation: Operation, platform: str) -> tuple[Hypothesis, ...]:
    """The hypotheses about the results of the operation that gives them."""
    if _is_handed_on(program, operation):
        return of_any_op(_constants(program, operation))
    return hypotheses_of(program.subject, platform, _constants(program, program.subject))


def _by_measure(
    program: Program, operation: Operation, values: tuple[Any, ...], number: int, together: Together
) -> Callable[[Measure], Array]:
    """Return what measures the errors of a result, for hypotheses about the operation it is of."""
    if _is_handed_on(program, operation):
        expected, actual = (together.expected[number],), (together.actual[number],)
        return lambda measure: measure(operation, values, expected, actual)[0]
    return lambda measure: together.by_measure(measure, number)


def _constants(program: Program, operation: Operation) -> tuple[bool, ...]:
    """Return which operands are constants to a compiler; arrays without elements are."""
    names = folded(program)
    return tuple(
        value.name in names or (can_be_result(value) and not elements(value))
        for value in operation.operands
    )


def _judge_result(
    program: Program, number: int, rule: Rule, platform: str, together: Together
) -> Judgement:
    expected, actual = together.expected[number], together.actual[number]
    of = element_type_of(expected)
    budget = rule.budget(of, platform)
    different = to_bits(actual) != to_bits(expected)
    if of.is_complex:
        different = different.any(axis=-1)
    where = np.flatnonzero(different)
    if not where.size:
        return _clean(expected, rule, budget, together.operands)
    operation, values, place = _giver(program, number, together)
    said = together.said(number)
    if rule.bound is not None and said.bound is None and said.measured is None:
        budget = None  # this result is data
    differing = Differing(
        operation, values, expected, actual, where, rule, budget, platform, place, said,
        together.actual, _hypotheses(program, operation, platform),
        _by_measure(program, operation, values, number, together),
    )  # fmt: skip
    findings = find(differing)
    errors = Errors()
    distances = differing.distances
    specified = ~np.isin(findings.codes, outside_accuracy(findings))
    if budget is not None:
        measured = np.zeros(expected.size)
        measured[where] = distances
        counted = np.ones(expected.size, bool)
        counted[where] = specified & np.isfinite(distances)
        errors.histogram = histogram_of(measured[counted])
        if rule.unit == "ulp":
            errors.points = error_points(values, expected, actual, counted)
        worst = float(measured[counted].max(initial=0.0))
    else:
        worst = None
    return _conclude(number, differing, findings, distances, worst, errors)


def _clean(expected: Array, rule: Rule, budget: float | None, operands: Operands) -> Judgement:
    errors = Errors()
    if budget is not None:
        errors.histogram[0] = expected.size
        everything = np.ones(expected.size, bool)
        if rule.unit == "ulp":
            errors.points = error_points(operands()[1], expected, expected, everything)
    worst = None if budget is None else 0.0
    return Judgement(Verdict.PASS, "", "", 0, expected.size, worst, budget, (), errors)


def _conclude(
    number: int,
    differing: Differing,
    findings: Findings,
    distances: Array,
    worst: float | None,
    errors: Errors,
) -> Judgement:
    """The worst verdict among the elements, and its most frequent kind that is not the mildest."""
    table, codes = findings.table, findings.codes
    counts = Counter(codes.tolist())
    severest = max(table[code][0].severity for code in counts)
    behind = [code for code in counts if table[code][0].severity == severest]
    chosen = max(behind, key=lambda n: (gravity(table[n][1]) >= 0, counts[n], -n))
    total, budget = differing.expected.size, differing.budget
    if table[chosen][0] is Verdict.PASS:
        return Judgement(Verdict.PASS, "", "", 0, total, worst, budget, (), errors)
    said = (number, differing, distances, findings.predicted)
    failing = tuple(
        _failing(table[code], np.flatnonzero(codes == code), *said)
        for code in sorted(counts)
        if table[code][0].fails
    )
    shown = _failing(table[chosen], np.flatnonzero(np.isin(codes, behind)), *said)
    return Judgement(
        shown.verdict, shown.kind, shown.message, shown.wrong, total, worst, budget,
        shown.elements, errors, failing,
    )  # fmt: skip


def _failing(
    finding: Finding,
    positions: Array,
    number: int,
    differing: Differing,
    distances: Array,
    predicted: Array,
) -> Failing:
    """Elements of result `number` that have a verdict and a class, the worst of them shown."""
    order = positions[np.argsort(-np.nan_to_num(distances[positions], posinf=1e300), kind="stable")]
    elements = tuple(differing.element(number, int(i), float(distances[i])) for i in order[:SHOWN])
    wrong, first = len(positions), elements[0]
    message = of_elements(*finding, wrong, differing.expected.size, first)
    if first.ulp and differing.budget is not None:
        message += f" ({first.ulp:g} {differing.rule.unit}, {differing.budget:g} permitted)"
    measured = distances[positions]
    measured = measured[np.isfinite(measured)]
    worst = float(measured.max()) if measured.size else None
    near = int(predicted[positions].sum())
    return Failing(*finding, message, wrong, elements, worst, predicted=near)


def combine(judgements: Sequence[Judgement]) -> Judgement:
    """One judgement for several results or input sets: the worst verdict speaks, all count."""
    severest = max(judgements, key=lambda j: j.verdict.severity)  # the first of the worst
    errors = Errors()
    for judgement in judgements:
        errors = merge_errors(errors, judgement.errors)
    return Judgement(
        severest.verdict,
        severest.kind,
        severest.message,
        sum(j.wrong for j in judgements if j.verdict is severest.verdict),
        sum(j.total for j in judgements),
        _largest(j.worst_ulp for j in judgements),
        _largest(j.budget_ulp for j in judgements),
        severest.elements,
        errors,
        united([one for judgement in judgements for one in judgement.failures]),
    )


def united(failing: Sequence[Failing]) -> tuple[Failing, ...]:
    """What fails with the same verdict and class as one, shown as the first of them."""
    found: dict[Finding, Failing] = {}
    for one in failing:
        before = found.get((one.verdict, one.kind))
        if before is not None:
            worst = _largest((before.worst_ulp, one.worst_ulp))
            wrong, predicted = before.wrong + one.wrong, before.predicted + one.predicted
            one = replace(before, wrong=wrong, worst_ulp=worst, predicted=predicted)
        found[one.verdict, one.kind] = one
    return tuple(found.values())


WORST_POINTS, SAMPLED_POINTS = 100, 200


def merge_errors(left: Errors, right: Errors) -> Errors:
    """The errors of both, whatever the order of merging: counts add up, points stay bounded.

    The worst hundred points stay, and of the others the two hundred with the smallest hash of
    their input, which is a sample that does not depend on what came first.
    """
    merged = Errors([a + b for a, b in zip(left.histogram, right.histogram, strict=True)])
    points = list(dict.fromkeys((*left.points, *right.points)))
    if len(points) > WORST_POINTS + SAMPLED_POINTS:
        points.sort(key=lambda p: (-abs(p[1]), p))
        rest = sorted(points[WORST_POINTS:], key=lambda p: (hash(p[0]), p))
        points = points[:WORST_POINTS] + rest[:SAMPLED_POINTS]
    merged.points = sorted(points)
    return merged

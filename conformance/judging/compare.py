"""Comparison of a backend's results with the reference's, element by element.

The common case, all bits equal, costs two views and one comparison. Only elements that differ are
classified (conformance/judging/classify.py), by the same questions in the same order. Is the
element within the budget? Is it unspecified? Does another reading of the specification give it? Do
flushed subnormals explain it? If not, what went wrong?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging import element_types
from conformance.judging.classify import classify_elements, codes_without_accuracy
from conformance.judging.differences import DifferingElements
from conformance.judging.digests import digest_arrays, digest_elements
from conformance.judging.joint_results import JointResults, Operands, operand_tracer
from conformance.judging.judgement import (
    Judgement,
    SetJudgements,
    collapse_failing,
    combine,
    passing_judgement,
)
from conformance.judging.messages import elements_message, other_classes
from conformance.judging.processes import process_results
from conformance.judging.questions import ElementClasses
from conformance.known.any_op import HYPOTHESES
from conformance.known.hypothesis import Hypothesis
from conformance.known.in_force import hypotheses_of, in_force
from conformance.tolerance.result_accuracy import apply_result_accuracy
from conformance.tolerance.rule import Measure, Rule
from conformance.tolerance.table import DATA
from conformance.tolerance.ulp import error_histogram, error_points
from conformance.transforms.collective import collective_of
from conformance.transforms.inline import inline_subject_bodies
from conformance.transforms.values import foldable_values
from conformance.verdict import Errors, Failing, Verdict, gravity
from reference.ir.program import Operation, Program
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import different_bits, equal_elements
from reference.ops.xla.lowering import lower_program

MAX_ELEMENTS = 8
"""Largest number of differing elements that a judgement records."""

WRONG_TYPE = "wrong type"
"""The class of results whose number, element types or shapes are not as stated."""

MALFORMED = (element_types.LABEL, WRONG_TYPE)
"""Classes of results that cannot be compared by elements, or not before their bits are taken."""


def describe_malformed(
    expected: Sequence[Array], actual: Sequence[Array]
) -> tuple[str, str] | None:
    """Return kind and message if results have a wrong number, type or shape, else None."""
    if len(actual) != len(expected):
        return WRONG_TYPE, f"{len(expected)} results expected, got {len(actual)}"
    for index, (want, got) in enumerate(zip(expected, actual, strict=True)):
        if got.shape != want.shape:
            return WRONG_TYPE, (
                f"result {index}: shape {list(want.shape)} expected, got {list(got.shape)}"
            )
    pairs = list(zip(expected, actual, strict=True))
    for index, (want, got) in enumerate(pairs):
        if got.dtype != want.dtype:
            bits = all(element_types.is_unsigned(*pair) for pair in pairs)
            types = f"{element_type_of(want)} expected, got {got.dtype.name}"
            kind = element_types.LABEL if bits else WRONG_TYPE
            return kind, f"result {index}: element type {types}"
    return None


def judge_bits(
    expected: Sequence[Array],
    actual: Sequence[Array],
    judged: Callable[[Sequence[Array]], Judgement],
) -> Judgement:
    """Judge results of unsigned types by their bits, and report the wrong types.

    `judged` judges the results reinterpreted in the stated types.
    """
    pairs = zip(expected, actual, strict=True)
    wrong = sum(got.size for want, got in pairs if got.dtype != want.dtype)
    kind, message = describe_malformed(expected, actual) or ("", "")
    types = Judgement(Verdict.DIVERGENT, kind, message, wrong, 0)
    stated = element_types.reinterpret_bits(expected, actual)
    near = sum(
        int(equal_elements(want, same).sum())
        for want, got, same in zip(expected, actual, stated, strict=True)
        if got.dtype != want.dtype
    )
    return combine([judged(stated), collapse_failing(types, near)])


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

    `expected` are the reference's results; `platform` selects the figures of the rule. A
    `result_accuracy` that the operation states replaces the accuracy of the rule.
    """
    program = lower_program(program)
    rule = apply_result_accuracy(program.subject, rule.hardware_rule(platform))
    total = sum(array.size for array in expected)
    bad = describe_malformed(expected, actual)
    if bad is not None and bad[0] == element_types.LABEL:
        return judge_bits(
            expected,
            actual,
            lambda stated: judge(program, inputs, expected, stated, rule, platform=platform),
        )
    if bad is not None:
        return collapse_failing(Judgement(Verdict.DIVERGENT, *bad, total, total))
    program = inline_subject_bodies(program)
    collective = collective_of(program)
    if program.process_count > 1 or collective is not None:
        if collective is not None and collective is not program.subject:  # in some construct
            rule = (rule_of(collective) or rule).hardware_rule(platform)
        return _judge_processes(program, inputs, expected, actual, rule, platform)
    joint = JointResults(rule, operand_tracer(program, inputs), tuple(expected), tuple(actual))
    numbers = range(len(expected))
    parts = [_judge_result(program, number, rule, platform, joint) for number in numbers]
    if not parts:
        return passing_judgement(0)
    return parts[0] if len(parts) == 1 else combine(parts)


def failing_elements(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    number: int,
    rule: Rule,
    *,
    platform: str = "cpu",
) -> Array:
    """Return a mask of the elements of a result that `judge` finds wrong, of a program of one
    process whose results have the stated types.
    """
    program = lower_program(program)
    rule = apply_result_accuracy(program.subject, rule.hardware_rule(platform))
    program = inline_subject_bodies(program)
    joint = JointResults(rule, operand_tracer(program, inputs), tuple(expected), tuple(actual))
    found = np.zeros(expected[number].size, np.bool_)
    differing = _differing_elements(program, number, rule, platform, joint)
    if differing is not None:
        findings = classify_elements(differing)
        fails = np.array([verdict.fails for verdict, _ in findings.table])
        found[differing.where] = fails[findings.codes]
    return found.reshape(expected[number].shape)


def judge_sets(
    program: Program,
    inputs: Sequence[Sequence[Array]],
    expected: Sequence[Sequence[Array]],
    actual: Sequence[Sequence[Array]],
    rule: Rule,
    *,
    platform: str = "cpu",
) -> SetJudgements:
    """Judge a backend's results of a program on each of its input sets; see `judge`."""
    sets = zip(inputs, expected, actual, strict=True)
    each = [_judge_with_digest(program, *one, rule, platform) for one in sets]
    return SetJudgements(each, combine(each))


def _judge_with_digest(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    rule: Rule,
    platform: str,
) -> Judgement:
    """Return the judgement on results, with a digest of all if they are malformed."""
    judged = judge(program, inputs, expected, actual, rule, platform=platform)
    if not judged.verdict.fails or (judged.digest and not describe_malformed(expected, actual)):
        return judged
    return replace(judged, digest=digest_arrays(actual))


def judge_operation(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    platform: str = "cpu",
) -> Judgement:
    """Judge results of a program of one operation by the rule of its op.

    The op must have a rule.
    """
    rule = rule_of(program.subject)
    assert rule is not None
    return judge(program, inputs, expected, actual, rule, platform=platform)


def _judge_processes(
    program: Program,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    rule: Rule,
    platform: str,
) -> Judgement:
    """Judge each process's results as results of one process, and combine the judgements."""
    judged: list[Judgement] = []
    for index, part in enumerate(process_results(program, inputs, expected, actual)):
        own = DATA if part.is_data else rule
        given = (part.program, part.inputs, part.expected, part.actual, own)
        with in_force(()):  # what the backend computes in place of `reduce` is not of a collective
            alone = judge(*given, platform=platform)
        elements = tuple(replace(element, result=index) for element in alone.elements)
        judged.append(replace(alone, total=part.expected[0].size, elements=elements))
    return combine(judged) if judged else passing_judgement(0)


def _defining_operation(
    program: Program, number: int, joint: JointResults
) -> tuple[Operation, tuple[Array, ...], int]:
    """Return the operation that defines result `number` of main, its operands and the result's
    index.

    This is the program's last operation. A result of an earlier operation counts as the result of a
    barrier.
    """
    operation, values = joint.operands()
    *_, end = program.main.body.operations
    value = end.operands[number]
    names = [result.name for result in operation.results]
    if value.name in names:
        return operation, values, names.index(value.name)
    barrier = Operation("optimization_barrier", (value,), (value,))
    return barrier, (joint.expected[number],), 0


def _is_propagated(program: Program, operation: Operation) -> bool:
    """Return whether a result comes from another operation than the program's subject."""
    return operation.name != program.subject.name


def _hypotheses(program: Program, operation: Operation) -> tuple[Hypothesis, ...]:
    """Return the hypotheses about the operation that defines a result."""
    if _is_propagated(program, operation):
        return HYPOTHESES
    return hypotheses_of(program.subject, _constants(program, program.subject))


def _error_measure(
    program: Program,
    operation: Operation,
    values: tuple[Any, ...],
    number: int,
    joint: JointResults,
) -> Callable[[Measure], Array]:
    """Return a function from a measure to the errors of a result's elements."""
    if _is_propagated(program, operation):
        expected, actual = (joint.expected[number],), (joint.actual[number],)
        return lambda measure: measure(operation, values, expected, actual)[0]
    return lambda measure: joint.measured_errors(measure, number)


def _constants(program: Program, operation: Operation) -> tuple[bool, ...]:
    """Return which operands a compiler sees as constants; arrays without elements count."""
    names = foldable_values(program)
    return tuple(value.name in names for value in operation.operands)


def _differing_elements(
    program: Program, number: int, rule: Rule, platform: str, joint: JointResults
) -> DifferingElements | None:
    """Return the elements of a result that have other bits than expected; None for none."""
    expected, actual = joint.expected[number], joint.actual[number]
    where = np.flatnonzero(different_bits(actual, expected))
    if not where.size:
        return None
    budget = rule.budget(element_type_of(expected), platform)
    operation, values, place = _defining_operation(program, number, joint)
    said = joint.rule_answers(number)
    if rule.bound is not None and said.bound is None and said.measured is None:
        budget = None  # this result is data
    return DifferingElements(
        operation, values, expected, actual, where, rule, budget, platform, place, said,
        joint.actual, _hypotheses(program, operation),
        _error_measure(program, operation, values, number, joint),
    )  # fmt: skip


def _judge_result(
    program: Program, number: int, rule: Rule, platform: str, joint: JointResults
) -> Judgement:
    expected, actual = joint.expected[number], joint.actual[number]
    differing = _differing_elements(program, number, rule, platform, joint)
    if differing is None:
        budget = rule.budget(element_type_of(expected), platform)
        return _identical_judgement(expected, rule, budget, joint.operands)
    where, values = differing.where, differing.operands
    findings = classify_elements(differing)
    errors = Errors()
    distances = differing.distances
    specified = ~np.isin(findings.codes, codes_without_accuracy(findings))
    if differing.budget is not None:
        measured = np.zeros(expected.size)
        measured[where] = distances
        counted = np.ones(expected.size, bool)
        counted[where] = specified & np.isfinite(distances)
        errors.histogram = error_histogram(measured[counted])
        if rule.unit == "ulp":
            errors.points = error_points(values, expected, actual, counted)
        worst = float(measured[counted].max(initial=0.0))
    else:
        worst = None
    return _conclude(number, differing, findings, distances, worst, errors)


def _identical_judgement(
    expected: Array, rule: Rule, budget: float | None, operands: Operands
) -> Judgement:
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
    differing: DifferingElements,
    findings: ElementClasses,
    distances: Array,
    worst: float | None,
    errors: Errors,
) -> Judgement:
    """Return the judgement for classified elements.

    Its verdict is the worst of all elements. Its kind is the most frequent kind with that verdict;
    kinds of negative gravity count only if there are no others.
    """
    table, codes = findings.table, findings.codes
    counts = Counter(codes.tolist())
    severest = max(table[code][0].severity for code in counts)
    behind = [code for code in counts if table[code][0].severity == severest]
    chosen = max(behind, key=lambda n: (gravity(table[n][1]) >= 0, counts[n], -n))
    total, budget = differing.expected.size, differing.budget
    if table[chosen][0] is Verdict.PASS:
        return Judgement(Verdict.PASS, "", "", 0, total, worst, budget, (), errors)
    said = (number, differing, distances, findings)
    failing_codes = sorted(code for code in counts if table[code][0].fails)
    failing = tuple(_make_failing(code, *said) for code in failing_codes)
    others = {table[code][1]: counts[code] for code in behind if code != chosen}
    shown = _make_failing(chosen, *said, other_classes(others))
    return Judgement(
        shown.verdict, shown.kind, shown.message, sum(counts[code] for code in behind), total,
        worst, budget, shown.elements, errors, failing,
        digest_elements(differing.actual, differing.where[np.isin(codes, failing_codes)]),
    )  # fmt: skip


def _make_failing(
    code: int,
    number: int,
    differing: DifferingElements,
    distances: Array,
    findings: ElementClasses,
    beside: str = "",
) -> Failing:
    """Return the failure of the elements of result `number` that have a class.

    The elements with the largest errors are recorded.
    """
    finding, positions = findings.table[code], np.flatnonzero(findings.codes == code)
    order = positions[np.argsort(-np.nan_to_num(distances[positions], posinf=1e300), kind="stable")]
    shown = [int(position) for position in order[:MAX_ELEMENTS]]
    elements = differing.elements(number, shown, [float(distances[at]) for at in shown])
    wrong, first = len(positions), elements[0]
    said = (wrong, differing.expected.size, first, beside, findings.detail(code))
    message = elements_message(*finding, *said)
    if first.ulp and differing.budget is not None:
        message += f" ({first.ulp:g} {differing.rule.unit}, {differing.budget:g} permitted)"
    measured = distances[positions]
    measured = measured[np.isfinite(measured)]
    worst = float(measured.max()) if measured.size else None
    near = int(findings.predicted[positions].sum())
    return Failing(*finding, message, wrong, elements, worst, predicted=near)

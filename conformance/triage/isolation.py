"""Judgements on an operation in isolation: on the operands that it had in its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.backends.base import BackendError
from conformance.catalog import rule_of
from conformance.judging.compare import describe_malformed, judge
from conformance.judging.judgement import Judgement
from conformance.localize.rewriting import can_explain
from conformance.transforms.extract import extract_operation
from conformance.transforms.substitute import substitute_constant
from conformance.transforms.values import foldable_values, used_values
from conformance.triage.audit import WrongOperation
from conformance.triage.localise import Search
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results


def judge_by_rule(
    search: Search,
    operation: Operation,
    taken: tuple[Program, tuple[Array, ...]],
    got: Sequence[Array],
) -> Judgement | None:
    """Judge an operation's results by the op's rule.

    None without a rule or comparable results.
    """
    rule = rule_of(operation)
    try:
        expected = evaluate(*taken)
    except EvaluationError:
        return None
    if rule is None or describe_malformed(expected, got) is not None:
        return None
    return judge(*taken, expected, got, rule, platform=search.platform)


def judge_folded(
    search: Search,
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    got: Sequence[Array],
) -> Judgement | None:
    """Judge an operation with its constant operands as constants, which compilers fold.

    None if it is right so, or gives other results than in the program.
    """
    taken, rule = extract_operation(program, operation, values), rule_of(operation)
    folded = {one.name for one in used_values(operation)} & foldable_values(program)
    if taken is None or rule is None:
        return None
    whole, inputs = taken
    given = dict(zip((one.name for one in whole.main.arguments), inputs, strict=True))
    if folded.isdisjoint(given):
        return None
    for name in folded & given.keys():
        whole = substitute_constant(whole, name, given[name])
    inputs = tuple(given[one.name] for one in whole.main.arguments)
    try:
        (actual,) = search.run(whole, [inputs])
    except BackendError:
        return None
    expected = evaluate(whole, inputs)
    if describe_malformed(expected, actual) is not None or not equal_results(actual, got):
        return None
    judgement = judge(whole, inputs, expected, actual, rule, platform=search.platform)
    if not judgement.verdict.fails:
        return None
    return explain_results(search, whole, inputs, actual, judgement)


def judge_in_isolation(search: Search, wrong: WrongOperation) -> Judgement | None:
    """Judge the results of an operation in isolation, on the operands it had.

    None if it does not fail in isolation, or fails differently in its program.
    """
    taken = extract_operation(wrong.program, wrong.operation, wrong.values)
    if taken is None or rule_of(wrong.operation) is None:
        return None
    try:
        (actual,) = search.run(taken[0], [taken[1]])
    except BackendError:
        return None
    judgement = judge_by_rule(search, wrong.operation, taken, actual)
    if judgement is None or not judgement.verdict.fails:
        return None
    if equal_results(actual, wrong.results) or _has_all_failures(judgement, wrong.judgement):
        return explain_results(search, *taken, actual, judgement)
    return None


def explain_results(
    search: Search,
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    judgement: Judgement,
) -> Judgement:
    """Return the judgement on an operation's results with their explanation by the compiler's
    module.
    """
    if not can_explain(judgement):
        return judgement
    return search.explain_by_module(program, [inputs], [actual]).apply(judgement)


def _has_all_failures(isolated: Judgement, whole: Judgement) -> bool:
    """Return whether the operation's failures in isolation include its failures in the program."""
    is_worse = whole.verdict.severity > isolated.verdict.severity
    return not is_worse and whole.wrong_classes <= isolated.wrong_classes

"""Programs that are refused, or have results of other shapes, because of an intermediate value.

The backend gives the value another shape. A refusal is about an operation that uses the value. So
operations that are known to return another type in isolation, or to be refused for that type, are
replaced by parameters. If the program then has results of the stated types, they are the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.backends.base import BackendError, failure_of
from conformance.judging.compare import MALFORMED, describe_malformed, judge_operation
from conformance.judging.judgement import Judgement
from conformance.transforms.extract import extract, extract_operation
from conformance.transforms.values import evaluate_values
from conformance.triage.audit import Run
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

Knows = Callable[[Operation, Verdict, str, str], str]
"""A function knows(operation, verdict, class, message): the id of an expectation about a result of
another type, or about a refusal.
"""

_ANY_MESSAGE = "result 0: element type, shape"
"""The words of every message on a result of another type, which an expectation may require."""


def find_misshaping(
    run: Run, program: Program, inputs: Sequence[Array], knows: Knows
) -> tuple[Operation, str] | None:
    """Return the first operation that causes the refusal or the shapes, and the matching
    expectation's id.

    None if the program fails so without such operations, too, or has none.
    """
    if program.process_count > 1:
        return None
    operations = program.main.body.operations[:-1]
    try:
        values = evaluate_values(program, inputs)
        found = {
            index: id_
            for index, operation in enumerate(operations)
            if (id_ := _match_misshaping(run, program, operation, values, knows))
        }
        if not found:
            return None
        rest = [number for number in range(len(operations)) if number not in found]
        without = extract(program, rest, program.main.body.operations[-1].operands)
        given = [values[argument.name] for argument in without.main.arguments]
        if describe_malformed(evaluate(without, given), next(run(without, [given]))) is not None:
            return None
    except (BackendError, EvaluationError, KeyError):
        return None
    number, id_ = next(iter(found.items()))
    return operations[number], id_


def extract_misshaping(
    run: Run, program: Program, inputs: Sequence[Array]
) -> tuple[Program, tuple[Array, ...]] | None:
    """Return the first operation whose result has another type, as a program on its inputs.

    None if the program is refused without such operations, too, or has none.
    """

    def knows_results(_: Operation, verdict: Verdict, kind: str, __: str) -> str:
        return kind if verdict is Verdict.DIVERGENT else ""

    found = find_misshaping(run, program, inputs, knows_results)
    return (
        None
        if found is None
        else extract_operation(program, found[0], evaluate_values(program, inputs))
    )


def _match_misshaping(
    run: Run, program: Program, operation: Operation, values: Mapping[str, Any], knows: Knows
) -> str:
    """Return the id of the expectation that matches a result of another type, or ""."""
    if not any(knows(operation, Verdict.DIVERGENT, kind, _ANY_MESSAGE) for kind in MALFORMED):
        return ""
    taken = extract_operation(program, operation, values)
    if taken is None:
        return ""
    expected = evaluate(*taken)
    try:
        actual = next(run(taken[0], [taken[1]]))
    except BackendError as error:
        return knows(operation, *failure_of(error), str(error))
    if describe_malformed(expected, actual) is None:
        return ""
    judged = judge_operation(*taken, expected, actual)
    return knows(operation, Verdict.DIVERGENT, judged.kind, judged.message)


def malformed_results(expected: Sequence[Array], actual: Sequence[Array]) -> list[int]:
    """Return the numbers of the results that have another shape or element type than expected."""
    pairs = enumerate(zip(expected, actual, strict=False))
    return [n for n, (want, got) in pairs if describe_malformed([want], [got])]


def judge_shown(
    program: Program, operation: Operation, inputs: Sequence[Array], shown: Sequence[Array]
) -> Judgement | None:
    """Judge an operation's results of another type, on the operands that the reference computes.

    None if they are not of another type, or if the operation cannot be evaluated in isolation.
    """
    try:
        taken = extract_operation(program, operation, evaluate_values(program, inputs))
        expected = None if taken is None else evaluate(*taken)
    except (EvaluationError, KeyError):
        return None
    if taken is None or expected is None or describe_malformed(expected, shown) is None:
        return None
    return judge_operation(*taken, expected, shown)

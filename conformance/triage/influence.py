"""Influence of wrong values: the changes of results when a value is repaired.

A value that is wrong for its operands need not have made a result wrong: a select may take the
other branch, a sum may absorb it. So each candidate is given the reference's value, and the
reference computes the results from it and the backend's other values. Where a compiler computes a
value once more for the operations that take it, the value that it returns may be wrong alone: then
the repaired value gives the backend's own results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.judging.compare import describe_malformed
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_beyond_rounding
from conformance.judging.perturbation.overrides import Override
from conformance.transforms.extract import extract
from conformance.transforms.values import used_values
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program, Value
from reference.ir.types import Array

MOST_REPAIRS = 64
"""Largest number of repairs; remaining candidates count as influential."""


def influential_overrides(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> tuple[Override, ...]:
    """Return the candidates whose repair changes results of main by more than rounding, and makes
    them others than the backend's.

    `values` are the backend's by name, of the results, too. Candidates are repaired all at once,
    then by halves where that changes a result: so a culprit among many harmless candidates takes
    few repairs. If only both halves together change a result, all of them are returned.
    """
    left = MOST_REPAIRS

    def found_among(some: Sequence[Override]) -> tuple[Override, ...]:
        nonlocal left
        if not some or left <= 0:
            return tuple(some)
        left -= 1
        if not _is_influential(program, platform, values, some):
            return ()
        if len(some) == 1:
            return tuple(some)
        middle = len(some) // 2
        found = (*found_among(some[:middle]), *found_among(some[middle:]))
        return found or tuple(some)

    return found_among(candidates)


def _is_influential(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> bool:
    """Return whether repairing all of these changes a result; True if undecidable."""
    if any(
        describe_malformed(candidate.expected, candidate.actual) is not None
        for candidate in candidates
    ):
        return True  # results after one of another type cannot be judged
    *operations, end = program.main.body.operations
    wrong, right = dict(values), dict(values)
    for candidate in candidates:
        names = [value.name for value in candidate.operation.results]
        wrong |= zip(names, candidate.actual, strict=True)
        right |= zip(names, candidate.expected, strict=True)
    repaired = {value for candidate in candidates for value in candidate.operation.results}
    changed = set(repaired)
    following: list[int] = []
    for index, operation in enumerate(operations):
        if not changed.isdisjoint(used_values(operation)):
            changed |= {*operation.results}
            following.append(index)
    ends = [operand for operand in end.operands if operand in changed]
    if not ends:
        return False
    by_themselves = [n for n in following if repaired.isdisjoint(operations[n].results)]
    try:
        # a candidate that depends on another is computed again from the repaired value
        repaired_program = _part(program, following, ends)
        given = _parameter_values(repaired_program, right)
        with_wrong = _part(program, by_themselves, ends)
        results = evaluate(with_wrong, _parameter_values(with_wrong, wrong))
        permitted = PermittedResults(repaired_program, given, platform)
        actual = [values[one.name] for one in ends]
        return all(is_beyond_rounding(permitted, one) for one in (results, actual))
    except (EvaluationError, KeyError):
        return True


def _part(program: Program, numbers: Sequence[int], ends: Sequence[Value]) -> Program:
    """Return some operations of main; constants become parameters, as they may be wrong, too."""
    return extract(program, numbers, ends, with_constants=False)


def _parameter_values(program: Program, values: Mapping[str, Array]) -> list[Array]:
    return [values[argument.name] for argument in program.main.arguments]


def is_influential_value(
    following: Program, platform: str, values: Mapping[str, Array], name: str, right: Array
) -> bool:
    """Return whether repairing a value changes a program's results by more than rounding.

    True if undecidable. `values` are the backend's for the program's parameters, by name.
    """
    try:
        with_wrong = evaluate(following, _parameter_values(following, values))
        permitted = PermittedResults(
            following, _parameter_values(following, {**values, name: right}), platform
        )
    except (EvaluationError, KeyError):
        return True
    return is_beyond_rounding(permitted, with_wrong)

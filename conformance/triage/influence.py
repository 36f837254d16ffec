"""Whether wrong values on the way matter: what changes in the results when they are repaired.

A value that is wrong for its operands need not have made a result wrong: a select may take the
other branch, a sum may drown it. So each candidate is given the reference's value, and the
reference computes what follows, from the backend's values in all other places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.judging.compare import malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import differs_beyond_rounding
from conformance.judging.perturbation.overrides import Override
from conformance.transforms.extract import part
from conformance.transforms.values import used_by
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program, Value
from reference.ir.types import Array

MOST_REPAIRS = 64
"""Repairs that are tried; candidates that are left when these are spent are taken to matter."""


def influential(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> tuple[Override, ...]:
    """Return the candidates whose repair changes results of main by more than rounding does.

    `values` are those that the backend has, by name. Candidates are repaired together, and halves
    of them where that changes a result, so that a culprit among many harmless ones takes few
    repairs. If neither half does so, but both together do, all of them are returned.
    """
    left = MOST_REPAIRS

    def found_among(some: Sequence[Override]) -> tuple[Override, ...]:
        nonlocal left
        if not some or left <= 0:
            return tuple(some)
        left -= 1
        if not _matter(program, platform, values, some):
            return ()
        if len(some) == 1:
            return tuple(some)
        middle = len(some) // 2
        found = (*found_among(some[:middle]), *found_among(some[middle:]))
        return found or tuple(some)

    return found_among(candidates)


def _matter(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> bool:
    """Return whether repairing all of these changes a result; True where it cannot be told."""
    if any(malformed(one.expected, one.actual) is not None for one in candidates):
        return True  # of what comes after a result of another type nothing can be told
    operations = program.main.body.operations[:-1]
    repaired = {one.operation.results[0].name for one in candidates}
    changed = {value.name for one in candidates for value in one.operation.results}
    following: list[int] = []
    by_themselves: list[int] = []
    for number, operation in enumerate(operations):
        depends = any(value.name in changed for value in used_by(operation))
        is_candidate = bool(operation.results) and operation.results[0].name in repaired
        changed |= {value.name for value in operation.results} if depends else set()
        following += [number] if depends else []
        by_themselves += [number] if depends and not is_candidate else []
    ends = [one for one in program.main.body.operations[-1].operands if one.name in changed]
    if not ends:
        return False
    wrong, right = dict(values), dict(values)
    for one in candidates:
        for value, got, expected in zip(
            one.operation.results, one.actual, one.expected, strict=True
        ):
            wrong[value.name], right[value.name] = got, expected
    try:
        # one that depends on another is computed anew where that is repaired
        repaired_program = _part(program, following, ends)
        given = _given(repaired_program, right)
        with_wrong = _part(program, by_themselves, ends)
        results = evaluate(with_wrong, _given(with_wrong, wrong))
        return differs_beyond_rounding(Permitted(repaired_program, given, platform), results)
    except (EvaluationError, KeyError):
        return True


def _part(program: Program, numbers: Sequence[int], ends: Sequence[Value]) -> Program:
    """Return some operations of main; constants may be wrong, too, and are parameters of it."""
    return part(program, numbers, ends, with_constants=False)


def _given(program: Program, values: Mapping[str, Array]) -> list[Array]:
    """Return the values of a program's parameters.

    Raises:
        KeyError: when one is not there.
    """
    return [values[argument.name] for argument in program.main.arguments]


def value_matters(
    following: Program, platform: str, values: Mapping[str, Array], name: str, right: Array
) -> bool:
    """Return whether repairing one value changes what a program makes of it by more than rounding
    does; True where it cannot be told.

    `values` are those that the backend has for the program's parameters, by name.
    """
    try:
        with_wrong = evaluate(following, _given(following, values))
        permitted = Permitted(following, _given(following, {**values, name: right}), platform)
    except (EvaluationError, KeyError):
        return True
    return differs_beyond_rounding(permitted, with_wrong)

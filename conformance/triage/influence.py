"""Whether wrong values on the way matter: what changes in the results when they are repaired.

A value that is wrong for its operands need not have made a result wrong: a select may take the
other branch, a sum may drown it. So each candidate is given the reference's value, and the
reference computes what follows, from the backend's values in all other places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conformance.judging.compare import malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import differs_beyond_rounding
from conformance.judging.perturbation.overrides import Override
from conformance.transforms.extract import alone, part
from conformance.transforms.values import used_by
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, Value
from reference.ir.types import Array
from reference.numerics.alike import alike

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


def results_that_matter(
    program: Program, platform: str, values: Mapping[str, Array], one: Override
) -> frozenset[int]:
    """Return the numbers of an operation's wrong results whose repair, each by itself, changes
    results of main by more than rounding does."""
    pairs = list(zip(one.expected, one.actual, strict=True))
    differing = [number for number, pair in enumerate(pairs) if not alike(*pair).all()]

    def repaired(number: int) -> Override:
        results = [want if n == number else got for n, (want, got) in enumerate(pairs)]
        return replace(one, expected=tuple(results))

    return frozenset(n for n in differing if _matter(program, platform, values, [repaired(n)]))


def reached_by(program: Program, operation: Operation) -> frozenset[int]:
    """Return the numbers of main's results that are computed from an operation's."""
    changed = {value.name for value in operation.results}
    for one in program.main.body.operations[:-1]:
        if any(value.name in changed for value in used_by(one)):
            changed |= {value.name for value in one.results}
    ends = program.main.body.operations[-1].operands
    return frozenset(number for number, one in enumerate(ends) if one.name in changed)


def carried_that_matter(
    program: Program,
    platform: str,
    loop: Operation,
    values: Mapping[str, Array],
    right: Sequence[Array],
    wrong: Sequence[Array],
    results: Collection[int],
) -> frozenset[int]:
    """Return the numbers of the carried values whose repair after an iteration changes those
    results of the loop by more than rounding does; all that differ where that cannot be told.

    `right` and `wrong` are what is carried then; `values` are those that the backend has in the
    program around the loop, by name. The reference computes the iterations that follow.
    """
    carried = tuple(
        Value(f"{value.name} carried {number}", value.type)
        for number, value in enumerate(loop.operands)
    )
    following = replace(loop, operands=carried)
    names = [value.name for value in carried]
    given = {**values, **dict(zip(names, wrong, strict=True))}
    pairs = enumerate(zip(right, wrong, strict=True))
    differing = [number for number, pair in pairs if not alike(*pair).all()]
    whole = alone(program, following, given)
    if whole is None:
        return frozenset(differing)

    def matters(number: int) -> bool:
        repaired = alone(program, following, {**given, names[number]: right[number]})
        assert repaired is not None  # as the whole is not
        permitted = Permitted(*repaired, platform)
        seen = [got if n in results else permitted.expected[n] for n, got in enumerate(reached)]
        return differs_beyond_rounding(permitted, seen)

    try:
        reached = evaluate(*whole)
        return frozenset(filter(matters, differing))
    except EvaluationError:
        return frozenset(differing)

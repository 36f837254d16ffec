"""Whether wrong values on the way matter: what changes in the results when they are repaired.

A value that is wrong for its operands need not have made a result wrong: a select may take the
other branch, a sum may drown it. So each candidate is given the reference's value, and the
reference computes what follows, from the backend's values in all other places.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import differs_beyond_rounding
from conformance.judging.perturbation.overrides import Override
from conformance.transforms.extract import part
from conformance.transforms.values import can_be_result, makers_of, used_by
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import alike

MOST_REPAIRS = 16
"""Candidates that are repaired one by one; any more are taken to matter."""


def influential(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> tuple[Override, ...]:
    """Return the candidates whose repair changes results of main by more than rounding does.

    `values` are those that the backend has, by name. If no repair does so by itself, but that of
    all together does, all are returned.
    """
    tried, untried = candidates[:MOST_REPAIRS], candidates[MOST_REPAIRS:]
    found = [one for one in tried if _matter(program, platform, values, [one])]
    if found or len(candidates) == 1:
        return (*found, *untried)
    all_matter = bool(candidates) and _matter(program, platform, values, candidates)
    return tuple(candidates) if all_matter else ()


def _matter(
    program: Program, platform: str, values: Mapping[str, Array], candidates: Sequence[Override]
) -> bool:
    """Return whether repairing all of these changes a result; True where it cannot be told."""
    try:
        followed = _Following(program, values).follow(candidates)
        return followed is None or followed.results_differ(platform)
    except EvaluationError:
        return True


def value_matters(
    following: Program, platform: str, values: Mapping[str, Array], name: str, right: Array
) -> bool:
    """Return whether repairing one value changes what a program makes of it by more than rounding
    does; True where it cannot be told.

    `values` are those that the backend has for the program's parameters, by name.
    """
    names = [argument.name for argument in following.main.arguments]
    repaired = {**values, name: right}
    try:
        with_wrong = evaluate(following, [values[one] for one in names])
        permitted = Permitted(following, [repaired[one] for one in names], platform)
    except (EvaluationError, KeyError):
        return True
    return differs_beyond_rounding(permitted, with_wrong)


class _Following:
    """The values of main that depend on candidates: as the backend's are, and with the repairs."""

    def __init__(self, program: Program, values: Mapping[str, Array]) -> None:
        self._program, self._makers = program, makers_of(program)
        self._wrong: dict[str, Array] = {}
        self._right: dict[str, Array] = {}
        self._with_wrong = ChainMap[str, Array](self._wrong, dict(values))
        self._with_right = ChainMap[str, Array](self._right, dict(values))
        self._numbers: list[int] = []

    def follow(self, candidates: Sequence[Override]) -> _Following | None:
        """Compute all that depends on the candidates; return None where that cannot be done."""
        by_result = {one.operation.results[0].name: one for one in candidates}
        for number, operation in enumerate(self._program.main.body.operations[:-1]):
            first = operation.results[0].name if operation.results else ""
            candidate = by_result.get(first)
            depends = any(value.name in self._wrong for value in used_by(operation))
            if candidate is None and not depends:
                continue
            right = self._made(number, self._with_right) if depends else None
            wrong = None if candidate else self._made(number, self._with_wrong)
            if candidate is not None:
                right = right if depends else candidate.expected
                wrong = candidate.actual
            if right is None or wrong is None:
                return None
            if depends:
                self._numbers.append(number)
            for value, one, other in zip(operation.results, wrong, right, strict=True):
                if one.shape != other.shape or one.dtype != other.dtype:
                    return None
                if not alike(one, other).all():
                    self._wrong[value.name], self._right[value.name] = one, other
        return self

    def _made(self, number: int, values: Mapping[str, Array]) -> Sequence[Array] | None:
        """Return the results of an operation; a constant may be wrong, so it is taken from `values`
        as all operands are."""
        results = self._program.main.body.operations[number].results
        one = part(self._program, [number], results, self._makers, with_constants=False)
        names = [argument.name for argument in one.main.arguments]
        if not all(map(can_be_result, results)) or not all(name in values for name in names):
            return None
        return evaluate(one, [values[name] for name in names])

    def results_differ(self, platform: str) -> bool:
        """Return whether a result of main differs by more than roundings on the way make of it."""
        ends = self._program.main.body.operations[-1].operands
        changed = [value for value in ends if value.name in self._wrong]
        if not changed:
            return False
        following = part(self._program, self._numbers, changed, self._makers, with_constants=False)
        given = [self._with_right.get(value.name) for value in following.main.arguments]
        inputs = [one for one in given if one is not None]
        if len(inputs) < len(given):
            return True
        permitted = Permitted(following, inputs, platform)
        return differs_beyond_rounding(permitted, [self._wrong[value.name] for value in changed])

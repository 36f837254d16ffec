"""The operations of a program whose results a backend gets wrong, the first of them first.

The program is run again with the results of all its operations as outputs. What goes wrong only
when the compiler is free to leave intermediate results out is looked for in prefixes of the program
instead. In a loop or a branch, the search goes on in the body, on what the reference carries there.
What is done about the one that is found is `conformance.explain`'s business.

Programs here are one function (see `conformance.inlining`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.backends.base import BackendError
from conformance.compare import Judgement
from conformance.parts import as_program, returning, shows, size
from conformance.permitted import Permitted
from conformance.perturb import judge_program, judge_result
from conformance.shifts import Shift, shifted
from conformance.verdict import Verdict
from reference.evaluate import EvaluationError, evaluate
from reference.program import Operation, Program, Region
from reference.types import Array

Run = Callable[[Program, Sequence[Sequence[Array]]], Iterator[list[Array]]]
"""run(program, input sets): the backend's results on each; raises BackendError."""

MOST_ELEMENTS = 1 << 24
"""Elements of all results together beyond which they are not all made outputs."""

ITERATIONS = 500
"""Iterations of a loop that are looked into."""


@dataclass(frozen=True, slots=True)
class Located:
    """An operation that goes wrong, within which others, and the judgement on its results.

    `values` are the backend's values of main by name, where they were looked at.
    """

    operation: Operation
    within: tuple[Operation, ...]
    judgement: Judgement
    values: Mapping[str, Array] = field(default_factory=dict[str, Array], repr=False)


@dataclass(frozen=True, slots=True)
class Part:
    """A region that goes wrong, as a program of its own, on what it takes at one time."""

    program: Program
    inputs: tuple[Array, ...]
    actual: Sequence[Array]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same while programs are searched: how to run them, and the platform."""

    run: Run
    platform: str

    def first(
        self,
        program: Program,
        inputs: Sequence[Array],
        worst: Verdict,
        shifts: Sequence[Shift] = (),
    ) -> Located | None:
        """The first operation of main whose result has a verdict as severe as the program's.

        Results of which there are shifts are right as shifted. None when it cannot be told: the
        backend refuses what is asked, or all seems right.
        """
        least = least_of(worst)
        try:
            found = self._by_outputs(program, inputs, least, shifts)
            return found or self._by_prefixes(program, inputs, least, shifts)
        except (BackendError, EvaluationError):
            return None

    def _judged(
        self, program: Program, inputs: Sequence[Array], shifts: Sequence[Shift]
    ) -> tuple[list[Array], Iterable[Judgement]]:
        """A program's results, and the judgement on each, made when asked for."""
        (actual,) = self.run(program, [inputs])
        permitted = Permitted(program, inputs, self.platform, shifts=shifts)
        if len(actual) != len(permitted.expected):
            return actual, [judge_program(permitted, actual)]
        return actual, (judge_result(permitted, n, array) for n, array in enumerate(actual))

    def _by_outputs(
        self, program: Program, inputs: Sequence[Array], least: Verdict, shifts: Sequence[Shift]
    ) -> Located | None:
        operations = program.main.body.operations[:-1]
        shown = [(one, value) for one in operations for value in one.results if shows(value)]
        if sum(size(value) for _, value in shown) > MOST_ELEMENTS or not shown:
            return None
        actual, judged = self._judged(returning(program, [v for _, v in shown]), inputs, shifts)
        for (operation, _), judgement in zip(shown, judged, strict=False):
            if _wrong(judgement, least):
                values = {v.name: array for (_, v), array in zip(shown, actual, strict=False)}
                return Located(operation, (), judgement, values)
        return None

    def _by_prefixes(
        self, program: Program, inputs: Sequence[Array], least: Verdict, shifts: Sequence[Shift]
    ) -> Located | None:
        """Bisection: the longest prefix that is right ends before the operation looked for."""
        operations = program.main.body.operations[:-1]
        right, wrong = 0, len(operations)
        found: Judgement | None = None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            bad = self._bad(_prefix(program, middle), inputs, least, shifts)
            if bad is None:
                right = middle
            else:
                wrong, found = middle, bad
        found = found or self._bad(program, inputs, least, shifts)
        return None if found is None else Located(operations[wrong - 1], (), found)

    def _bad(
        self, program: Program, inputs: Sequence[Array], least: Verdict, shifts: Sequence[Shift]
    ) -> Judgement | None:
        if not program.main.result_types:
            return None
        _, judged = self._judged(program, inputs, shifts)
        return next((j for j in judged if _wrong(j, least)), None)

    def parts(self, operation: Operation, values: dict[str, Any], least: Verdict) -> Iterator[Part]:
        """The bodies of a loop or a branch that go wrong: an iteration after the other.

        `values` are those of main by name; of a loop, what the reference carries is looked at.

        Raises:
            BackendError: when the backend does not run a body alone.
            EvaluationError, KeyError: when it cannot be evaluated alone.
        """
        if operation.name != "while":
            yield from self._of_region(_chosen(operation, values), values, [()], least)
            return
        carried = [values[operand.name] for operand in operation.operands]
        condition, body = operation.regions
        sets = list(_iterations(operation, values, carried))
        yield from self._of_region(condition, values, sets, least)
        done = sets[:-1] if len(sets) <= ITERATIONS else sets
        yield from self._of_region(body, values, done, least)

    def _of_region(
        self,
        region: Region,
        values: dict[str, Any],
        sets: Sequence[Sequence[Array]],
        least: Verdict,
    ) -> Iterator[Part]:
        program, free = as_program(region)
        if not all(_passes(argument) for argument in program.main.arguments):
            return
        around = [values[value.name] for value in free]
        given = [(*one, *around) for one in sets]
        for inputs, actual in zip(given, self.run(program, given), strict=True):
            judgement = judge_program(Permitted(program, inputs, self.platform), actual)
            if _wrong(judgement, least):
                yield Part(program, inputs, actual, judgement)


def least_of(worst: Verdict) -> Verdict:
    """The mildest verdict of an operation that may be behind that of the whole."""
    return min(worst, Verdict.INACCURATE, key=lambda verdict: verdict.severity)


def _wrong(judgement: Judgement, least: Verdict) -> bool:
    return judgement.verdict.fails and judgement.verdict.severity >= least.severity


_passes = shows


def _prefix(program: Program, length: int) -> Program:
    """The first operations of main; it returns what the others use of them."""
    main = program.main
    kept, rest = main.body.operations[:length], main.body.operations[length:]
    used = {name for operation in rest for name in _names(operation)}
    live = [v for o in kept for v in o.results if v.name in used and shows(v)]
    shorter = replace(main, body=replace(main.body, operations=(*kept, rest[-1])))
    others = (f for f in program.functions if f is not main)
    return returning(Program((shorter, *others)), live)


def _names(operation: Operation) -> Iterator[str]:
    yield from (value.name for value in operation.operands)
    for region in operation.regions:
        for inner in region.operations:
            yield from _names(inner)


def values_of(
    program: Program, inputs: Sequence[Array], shifts: Sequence[Shift] = ()
) -> dict[str, Any]:
    """The values of main by name, as the reference has them, with these results shifted."""
    main = program.main
    known: dict[str, Any] = {of.name: a for of, a in zip(main.arguments, inputs, strict=True)}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        results = shifted(operation, results, shifts)
        known.update(zip((value.name for value in operation.results), results, strict=True))
        return results

    evaluate(program, inputs, on_result=keep)
    return known


def _chosen(operation: Operation, values: dict[str, Any]) -> Region:
    """The branch that the reference takes."""
    index = int(np.asarray(values[operation.operands[0].name]))
    if operation.name == "if":
        return operation.regions[0 if index else 1]
    last = len(operation.regions) - 1
    return operation.regions[index if 0 <= index <= last else last]


def _iterations(
    operation: Operation, values: dict[str, Any], carried: list[Any]
) -> Iterator[list[Any]]:
    """What a loop carries into each iteration, the one in which it ends included."""
    (condition, around), (body, within) = map(as_program, operation.regions)
    for _ in range(ITERATIONS + 1):
        yield carried
        outside = [values[value.name] for value in around]
        if not evaluate(condition, [*carried, *outside])[0]:
            return
        carried = list(evaluate(body, [*carried, *(values[value.name] for value in within)]))

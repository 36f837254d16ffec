"""Bisection of a long program, down to a part whose values can all be returned.

The first half is run on its own. If any value that it passes on is wrong and makes a later result
wrong, the search goes on in the first half. Else it goes on in the second half, on the backend's
own values. A thousand operations take about ten runs, and each run is half as large.

The programs are one function of one process (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.judging.compare import describe_malformed
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import (
    judge_program,
    judge_result,
    unreached_by_distance,
)
from conformance.transforms.dead_code import restrict_to
from conformance.transforms.extract import extract, prefix
from conformance.transforms.values import can_be_result, element_count, working_operations
from conformance.triage.audit import MOST_ELEMENTS, Run, audit
from conformance.triage.fault import Explanation, FailedProgram
from conformance.triage.influence import is_influential_value
from conformance.triage.localise import Search, mildest_cause
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

SHORT = 64
"""Largest number of operations of an undivided stretch, not counting constants."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive operations of a program with a wrong result on these inputs.

    `actual` are the backend's results.
    """

    program: Program
    inputs: tuple[Array, ...]
    actual: tuple[Array, ...]

    def restrict_to(self, number: int) -> Stretch:
        """Return the part that computes result `number`."""
        end = self.program.main.body.operations[-1].operands[number]
        return Stretch(restrict_to(self.program, [end]), self.inputs, (self.actual[number],))


@dataclass(frozen=True, slots=True)
class Bisection:
    """A search by bisection: the run function, the platform, and the mildest verdict that
    counts.
    """

    run: Run
    platform: str
    least: Verdict

    def narrow(self, whole: Stretch) -> Stretch | None:
        """Return a shorter part of a long stretch of operations that fails, or None."""
        found, stretch = None, whole
        while _is_long(stretch.program):
            try:
                shorter = self._half(stretch)
            except (BackendError, EvaluationError):
                break
            if shorter is None:
                break
            found = stretch = shorter
        return found

    def _half(self, stretch: Stretch) -> Stretch | None:
        """Return the half that fails in isolation; None if neither does."""
        program, middle = stretch.program, _middle_index(stretch.program)
        numbers = range(middle, len(program.main.body.operations) - 1)
        before = prefix(program, middle)
        following = extract(program, numbers, program.main.body.operations[-1].operands)
        values = _arguments_by_name(program, stretch.inputs)
        if before.main.result_types:
            first = self._run_stretch(before, stretch.inputs)
            names = [value.name for value in before.main.body.operations[-1].operands]
            values |= dict(zip(names, first.actual, strict=True))
            for number, right in self._wrong_results(first):
                if is_influential_value(following, self.platform, values, names[number], right):
                    return first.restrict_to(number)
        names = [argument.name for argument in following.main.arguments]
        if not all(name in values for name in names):
            return None
        second = self._run_stretch(following, [values[name] for name in names])
        return next((second.restrict_to(number) for number, _ in self._wrong_results(second)), None)

    def _run_stretch(self, program: Program, inputs: Sequence[Array]) -> Stretch:
        (actual,) = self.run(program, [inputs])
        return Stretch(program, tuple(inputs), tuple(actual))

    def _wrong_results(self, stretch: Stretch) -> Iterator[tuple[int, Array]]:
        """Yield number and expected value of each wrong result, the most obvious first."""
        permitted = PermittedResults(stretch.program, stretch.inputs, self.platform)
        expected, actual = permitted.expected, stretch.actual
        if describe_malformed(expected, actual) is not None:
            pairs = enumerate(zip(expected, actual, strict=False))
            yield from (
                (n, one) for n, (one, got) in pairs if describe_malformed([one], [got]) is not None
            )
            return
        for number in unreached_by_distance(permitted, actual):
            judgement = judge_result(permitted, number, actual[number])
            worst = judgement.verdict
            if worst.fails and worst.severity >= self.least.severity:
                yield number, expected[number]


Explain = Callable[[FailedProgram], Explanation]
"""A function explain(failed program) that returns the cause of its failure."""


def explain_by_stretch(
    search: Search, explain: Explain, failed: FailedProgram
) -> Explanation | None:
    """Return the cause in a program that is too long or too large to return all values.

    None if no part of it fails on its own.
    """
    judgement = failed.judgement
    whole = Stretch(failed.program, tuple(failed.inputs), tuple(failed.actual))
    if judgement.elements:
        whole = whole.restrict_to(judgement.elements[0].result)
    halving = Bisection(search.run, search.platform, mildest_cause(judgement.verdict))
    stretch = halving.narrow(whole)
    if stretch is None:
        return None
    less, given, got = stretch.program, stretch.inputs, stretch.actual
    why = judge_program(PermittedResults(less, given, search.platform), got)
    shown = audit(search.run, search.platform, less, given, range(len(got)))
    found = explain(FailedProgram(less, given, got, why, shown))
    if found.first is None:
        return None
    if not found.is_known or shown is None:
        return replace(found, judgement=judgement if found.known else None)
    shifts = [*shown.adopted, *shown.differing]
    try:
        permitted = failed.permitted_results(search.platform, shifts)
    except EvaluationError:
        return replace(found, judgement=judgement)
    return replace(found, judgement=judge_program(permitted, failed.actual))


def _arguments_by_name(program: Program, inputs: Sequence[Array]) -> dict[str, Array]:
    """Return the arguments of main by name."""
    return dict(zip((one.name for one in program.main.arguments), inputs, strict=True))


def _is_long(program: Program) -> bool:
    """Return whether a program has too many operations or too large results to show them all."""
    operations = working_operations(program)
    if len(operations) < 2:
        return False
    shown = [value for one in operations for value in one.results if can_be_result(value)]
    return len(operations) > SHORT or sum(map(element_count, shown)) > MOST_ELEMENTS


def _middle_index(program: Program) -> int:
    """Return the index of the middle operation, not counting constants."""
    operations = program.main.body.operations[:-1]
    working = [number for number, one in enumerate(operations) if not is_constant(one)]
    return working[len(working) // 2]

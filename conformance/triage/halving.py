"""A long program cut in halves until a stretch is left that is short enough to show all values of.

The first half is run by itself. If one of the values that it hands on is wrong, and that makes what
follows wrong, the search goes on in it; else in the second half, on the backend's own values. So a
thousand operations take about ten runs, and what is run and evaluated halves each time.

Programs here are one function of one process (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.judging.compare import malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import (
    by_distance,
    judge_program,
    judge_result,
)
from conformance.transforms.dead_code import needed
from conformance.transforms.extract import part, prefix
from conformance.transforms.values import can_be_result, elements
from conformance.triage.fault import Explained, FailedProgram
from conformance.triage.influence import value_matters
from conformance.triage.isolate import MOST_ELEMENTS, Run, steps
from conformance.triage.localise import Search, least_of
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

SHORT = 64
"""Operations of a stretch that is not cut again, constants aside."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some operations of a program, in order, that give a wrong result on these inputs.

    `actual` are the backend's results.
    """

    program: Program
    inputs: tuple[Array, ...]
    actual: tuple[Array, ...]

    def only(self, number: int) -> Stretch:
        """Return the part that makes the result of this number."""
        end = self.program.main.body.operations[-1].operands[number]
        return Stretch(needed(self.program, [end]), self.inputs, (self.actual[number],))


@dataclass(frozen=True, slots=True)
class Halving:
    """A search by halves: run and platform of programs, and the mildest verdict that is wrong."""

    run: Run
    platform: str
    least: Verdict

    def narrowed(self, whole: Stretch) -> Stretch | None:
        """Return a shorter stretch of one that is long and goes wrong; None where none is found."""
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
        """Return the half that goes wrong; None where neither does by itself."""
        program, middle = stretch.program, _middle(stretch.program)
        numbers = range(middle, len(program.main.body.operations) - 1)
        before = prefix(program, middle)
        following = part(program, numbers, program.main.body.operations[-1].operands)
        values = _named(program, stretch.inputs)
        if before.main.result_types:
            first = self._ran(before, stretch.inputs)
            names = [value.name for value in before.main.body.operations[-1].operands]
            values |= dict(zip(names, first.actual, strict=True))
            for number, right in self._wrong(first):
                if value_matters(following, self.platform, values, names[number], right):
                    return first.only(number)
        names = [argument.name for argument in following.main.arguments]
        if not all(name in values for name in names):
            return None
        second = self._ran(following, [values[name] for name in names])
        return next((second.only(number) for number, _ in self._wrong(second)), None)

    def _ran(self, program: Program, inputs: Sequence[Array]) -> Stretch:
        (actual,) = self.run(program, [inputs])
        return Stretch(program, tuple(inputs), tuple(actual))

    def _wrong(self, stretch: Stretch) -> Iterator[tuple[int, Array]]:
        """Yield the number of each wrong result, and what it should be; the most obvious first."""
        permitted = Permitted(stretch.program, stretch.inputs, self.platform)
        expected, actual = permitted.expected, stretch.actual
        if malformed(expected, actual) is not None:
            pairs = enumerate(zip(expected, actual, strict=False))
            yield from ((n, one) for n, (one, got) in pairs if malformed([one], [got]) is not None)
            return
        for number in by_distance(permitted, actual):
            judgement = judge_result(permitted, number, actual[number])
            worst = judgement.verdict
            if worst.fails and worst.severity >= self.least.severity:
                yield number, expected[number]


Explain = Callable[[FailedProgram], Explained]
"""explain(failed program): what is behind its failure."""


def in_a_stretch(search: Search, explain: Explain, failed: FailedProgram) -> Explained | None:
    """Return what is behind the failure of a program that is too long, or too large, to show all
    of its values; None where no part of it goes wrong by itself."""
    judgement = failed.judgement
    whole = Stretch(failed.program, tuple(failed.inputs), tuple(failed.actual))
    if judgement.elements:
        whole = whole.only(judgement.elements[0].result)
    halving = Halving(search.run, search.platform, least_of(judgement.verdict))
    stretch = halving.narrowed(whole)
    if stretch is None:
        return None
    less, given, got = stretch.program, stretch.inputs, stretch.actual
    why = judge_program(Permitted(less, given, search.platform), got)
    shown = steps(search.run, search.platform, less, given, range(len(got)))
    found = explain(FailedProgram(less, given, got, why, shown))
    if found.first is None:
        return None
    if not found.is_known or shown is None:
        return replace(found, judgement=judgement if found.known else None)
    shifts = [*shown.adopted, *shown.differing]
    try:
        permitted = failed.permitted(search.platform, shifts)
    except EvaluationError:
        return replace(found, judgement=judgement)
    return replace(found, judgement=judge_program(permitted, failed.actual))


def _named(program: Program, inputs: Sequence[Array]) -> dict[str, Array]:
    """Return the arguments of main by name."""
    return dict(zip((one.name for one in program.main.arguments), inputs, strict=True))


def _is_long(program: Program) -> bool:
    """Return whether a program has too many operations, or too large results, to show them all."""
    operations = [one for one in program.main.body.operations[:-1] if not is_constant(one)]
    if len(operations) < 2:
        return False
    shown = [value for one in operations for value in one.results if can_be_result(value)]
    return len(operations) > SHORT or sum(map(elements, shown)) > MOST_ELEMENTS


def _middle(program: Program) -> int:
    """Return the number of the operation before which half of the others stand."""
    operations = program.main.body.operations[:-1]
    working = [number for number, one in enumerate(operations) if not is_constant(one)]
    return working[len(working) // 2]

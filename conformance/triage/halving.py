"""A long program cut in halves until a stretch is left that is short enough to show all values of.

The first half is run by itself. If one of the values that it hands on is wrong, and that makes what
follows wrong, the search goes on in it; else in the second half, on the backend's own values. So a
thousand operations take about ten runs, and what is run and evaluated halves each time.

Programs here are one function of one process (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.judging.compare import Judgement, combine, malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import in_doubt, judge_program, judge_result
from conformance.transforms.dead_code import needed
from conformance.transforms.extract import part, prefix
from conformance.transforms.values import can_be_result, elements
from conformance.triage.fault import Explained
from conformance.triage.isolate import MOST_ELEMENTS, Run, Steps, steps
from conformance.triage.localise import Search, least_of
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import alike
from reference.ops.structure import is_constant

SHORT = 64
"""Operations of a stretch that is not cut again, constants aside."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some operations of a program, in order, that go wrong on these inputs.

    `actual` are the backend's results, all of which are wrong; `judgement` is on them together.
    """

    program: Program
    inputs: tuple[Array, ...]
    actual: tuple[Array, ...]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Halving:
    """How to run programs, on which platform, and the mildest verdict that counts as wrong."""

    run: Run
    platform: str
    least: Verdict

    def narrowed(
        self, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
    ) -> Stretch | None:
        """Return a stretch of a program that gave wrong results; None where it cannot be cut."""
        try:
            whole = self._wrong(program, inputs, actual)
        except EvaluationError:
            return None
        found, stretch = None, whole
        while stretch is not None and _is_long(stretch.program):
            try:
                stretch = self._half(stretch)
            except (BackendError, EvaluationError):
                break
            found = stretch or found
        return found

    def _half(self, stretch: Stretch) -> Stretch | None:
        """Return the half that goes wrong; None where neither does by itself."""
        program, middle = stretch.program, _middle(stretch.program)
        before = prefix(program, middle)
        values = _named(program, stretch.inputs)
        following = part(
            program,
            range(middle, len(program.main.body.operations) - 1),
            program.main.body.operations[-1].operands,
        )
        if before.main.result_types:
            (got,) = self.run(before, [stretch.inputs])
            wrong = self._wrong(before, stretch.inputs, got)
            values |= _returned(before, got)
            if wrong is not None and self._matters(wrong, following, values):
                return wrong
        names = [argument.name for argument in following.main.arguments]
        if not all(name in values for name in names):
            return None
        inputs = [values[name] for name in names]
        (got,) = self.run(following, [inputs])
        return self._wrong(following, inputs, got)

    def _wrong(
        self, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
    ) -> Stretch | None:
        """Return the part of a program that makes its wrong results; None where there are none."""
        permitted = Permitted(program, inputs, self.platform)
        if malformed(permitted.expected, actual) is not None:
            return Stretch(program, tuple(inputs), tuple(actual), judge_program(permitted, actual))
        judged = {n: judge_result(permitted, n, actual[n]) for n in in_doubt(permitted, actual)}
        wrong = {n: one for n, one in judged.items() if self._is_wrong(one)}
        if not wrong:
            return None
        ends = program.main.body.operations[-1].operands
        less = needed(program, [ends[number] for number in wrong])
        given = tuple(actual[number] for number in wrong)
        return Stretch(less, tuple(inputs), given, combine([*wrong.values()]))

    def _is_wrong(self, judgement: Judgement) -> bool:
        return judgement.verdict.fails and judgement.verdict.severity >= self.least.severity

    def _matters(self, half: Stretch, following: Program, values: Mapping[str, Array]) -> bool:
        """Return whether repairing the wrong values of a first half changes what follows by more
        than rounding does; True where it cannot be told."""
        names = [argument.name for argument in following.main.arguments]
        right = dict(values)
        try:
            right |= _returned(half.program, evaluate(half.program, half.inputs))
            with_wrong = evaluate(following, [values[name] for name in names])
            permitted = Permitted(following, [right[name] for name in names], self.platform)
        except (EvaluationError, KeyError):
            return True
        pairs = zip(permitted.expected, with_wrong, strict=True)
        if all(one.shape == other.shape and alike(one, other).all() for one, other in pairs):
            return False
        return bool(in_doubt(permitted, with_wrong))


Explain = Callable[[Program, Sequence[Array], Sequence[Array], Judgement, Steps | None], Explained]
"""explain(program, inputs, actual, judgement, steps): what is behind a failure."""


def in_a_stretch(
    search: Search,
    explain: Explain,
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    judgement: Judgement,
) -> Explained | None:
    """Return what is behind the failure of a program that is too long, or too large, to show all
    of its values; None where no part of it goes wrong by itself."""
    halving = Halving(search.run, search.platform, least_of(judgement.verdict))
    stretch = halving.narrowed(program, inputs, actual)
    if stretch is None:
        return None
    less, given, got = stretch.program, stretch.inputs, stretch.actual
    shown = steps(search.run, search.platform, less, given, range(len(got)))
    found = explain(less, given, got, stretch.judgement, shown)
    if found.first is None:
        return None
    if not found.is_known or shown is None:
        return replace(found, judgement=judgement if found.known else None)
    shifts = [*shown.adopted, *shown.differing]
    try:
        permitted = Permitted(program, inputs, search.platform, None, shifts)
    except EvaluationError:
        return replace(found, judgement=judgement)
    return replace(found, judgement=judge_program(permitted, actual))


def _named(program: Program, inputs: Sequence[Array]) -> dict[str, Array]:
    """Return the arguments of main by name."""
    return dict(zip((one.name for one in program.main.arguments), inputs, strict=True))


def _returned(program: Program, results: Sequence[Array]) -> dict[str, Array]:
    """Return the results of main by name."""
    ends = program.main.body.operations[-1].operands
    return dict(zip((one.name for one in ends), results, strict=True))


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

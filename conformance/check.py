"""Checking programs of the user's own: one file, from its text to a verdict.

A program is judged as a whole by perturbed evaluation (conformance/perturb.py), or by what it
asserts itself, where it is one of StableHLO's test programs; of one that fails, the first operation
is named whose result goes wrong, unless all of it is known (conformance/explain.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from conformance import saving
from conformance.arguments import SIZES, InputsError, drawn, given, is_dynamic, load
from conformance.backends import open_backend
from conformance.backends.base import (
    Backend,
    BackendError,
    Executable,
    Failed,
    Rejected,
    Unsupported,
)
from conformance.compare import Judgement, judge, malformed
from conformance.differing import decimal
from conformance.emit_stablehlo import EmitError, emit
from conformance.expectations import Expectation
from conformance.explain import Explainer, Fault
from conformance.extensions import beyond
from conformance.hull import alike
from conformance.limit import TooSlow, limited
from conformance.locate import Search
from conformance.modules import NotChecked, Unit, of_sizes, units
from conformance.moves import rule_of
from conformance.naming import described, parameters
from conformance.parse import Unreadable
from conformance.permitted import Permitted
from conformance.perturb import is_single, judge_program, permits
from conformance.settle import Settling
from conformance.stepwise import Steps, steps
from conformance.verdict import Element, Errors, Verdict
from reference.evaluate import EvaluationError, check, evaluate
from reference.program import Operation, Program
from reference.types import Array

INVALID = "invalid program"
"""The class of a file that holds no program, or one that breaks constraints."""

KEPT = 32
"""Compiled programs that are kept: the search asks for the same ones on other inputs."""

RIGHT = ("reference", "reference:right")
"""The names of the backend that is the reference itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all files of a call are checked with.

    `seconds` is what the reference may take for a program on a set of inputs; `save` the folder
    for what fails.
    """

    backend: str = "cpu"
    inputs: Path | None = None
    seed: int = 0
    expectations: tuple[Expectation, ...] = ()
    seconds: float = 30.0
    save: Path | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one file.

    `verdict` is the worst of its programs', `kind` its class ("" when passed), `operation` the
    first that goes wrong, where it can be told; `elements` are the first few that differ. `known`
    are the ids of the expectations that know all of it.
    """

    file: str
    verdict: Verdict
    kind: str = ""
    operation: str = ""
    message: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether this makes the check fail: known divergences do not."""
        return self.verdict.fails and not self.known

    @property
    def is_invalid(self) -> bool:
        """Whether this is no program at all, or not a valid one: a mistake of the user's."""
        return self.verdict is Verdict.REJECTED and self.kind == INVALID


def check_file(path: str, settings: Settings) -> Checked:
    """The verdict on a file, in this process.

    Raises:
        InputsError: when inputs are given that the program does not take.
        NotAvailable: when the backend cannot be had.
        KeyError: when there is no such backend.
    """
    try:
        found = [_checked(path, part, settings) for part in units(Path(path))]
    except OSError as error:
        return Checked(path, Verdict.REJECTED, INVALID, "", error.strerror or str(error))
    return merged(path, found)


def merged(path: str, found: Sequence[Checked]) -> Checked:
    """One verdict for all programs of a file: the worst of those that were checked."""
    if not found:
        return Checked(path, Verdict.UNSUPPORTED, "nothing to check", "", "the file has no program")
    left = [one for one in found if one.verdict is Verdict.UNSUPPORTED]
    done = [one for one in found if one.verdict is not Verdict.UNSUPPORTED]
    worst = _worst(done or left)
    message = worst.message
    if done and left:
        note = f"{len(left)} of {len(found)} programs not checked: {left[0].message}"
        message = f"{message}; {note}" if message else note
    known = _known(done) if worst.known else ()
    return replace(worst, file=path, message=message, known=known)


class _Verdict(Protocol):
    """What a file, a program, or a program on some inputs has come to."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def known(self) -> tuple[str, ...]: ...


_V = TypeVar("_V", bound=_Verdict)


def _worst(found: Sequence[_V]) -> _V:
    """The worst of several: what fails and is not known, before what is."""
    return max(found, key=lambda one: (one.verdict.fails and not one.known, one.verdict.severity))


def _known(found: Sequence[_Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for one in found for id_ in one.known))


def _checked(path: str, part: Unit | NotChecked, settings: Settings) -> Checked:
    if isinstance(part, NotChecked):
        if part.invalid:
            return Checked(path, Verdict.REJECTED, INVALID, "", part.reason)
        return Checked(path, Verdict.UNSUPPORTED, "not read", "", part.reason)
    named = "" if part.name == "main" else f"@{part.name}: "
    try:
        sets, notes = _inputs(part, settings)
        backend, platform = _opened(settings.backend)
        found: list[_Outcome] = []
        if is_dynamic(part.flat.program) and settings.backend not in RIGHT:
            part = _made_over(part, sets, found)
        work = _Work(part, settings, backend, platform)
        for number, inputs in enumerate(sets, start=1):
            origin = _origin(settings, inputs, number, len(sets))
            found.append(_judged(path, part, inputs, origin, work, settings))
            if found[-1].verdict.fails and not found[-1].known:
                break
    except _Unsupported as reason:
        return Checked(path, Verdict.UNSUPPORTED, reason.kind, "", named + str(reason))
    except TooSlow as reason:
        return Checked(path, Verdict.UNSUPPORTED, "not evaluated", "", named + str(reason))
    worst = _worst(found)
    message = "; ".join(filter(None, (worst.message, *notes, part.note)))
    message = named + message if message else ""
    known = _known(found) if worst.known else ()
    return Checked(path, worst.verdict, worst.kind, worst.operation, message, worst.elements, known)


def _origin(settings: Settings, inputs: Sequence[Array], number: int, count: int) -> str:
    """Which set of inputs this is; "" where there are none."""
    if not inputs:
        return ""
    return "given inputs" if settings.inputs else f"drawn inputs, set {number} of {count}"


def _judged(
    path: str, unit: Unit, inputs: tuple[Array, ...], origin: str, work: _Work, settings: Settings
) -> _Outcome:
    """The outcome on a set of inputs, which is told and saved where it fails."""
    if settings.save is None:
        return _on(origin, work.judged(inputs))
    folder = saving.Folder(settings.save, path, unit, inputs, settings.backend, origin)
    folder.begin()
    try:
        outcome = work.judged(inputs)
    except BaseException:
        folder.remove()
        raise
    if not outcome.verdict.fails:
        folder.remove()
        return outcome
    folder.end(outcome, *work.both(inputs))
    return _on(origin, outcome, f"saved in {folder.path}")


def _on(origin: str, outcome: _Outcome, *notes: str) -> _Outcome:
    """The outcome, with a note where it fails on some inputs of several."""
    if not outcome.verdict.fails:
        return outcome
    return replace(outcome, message="; ".join(filter(None, (outcome.message, origin, *notes))))


class _Unsupported(Exception):
    """A program that is not checked, and why."""

    def __init__(self, message: str, kind: str = "not evaluated") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a program on one set of inputs."""

    verdict: Verdict
    kind: str = ""
    message: str = ""
    operation: str = ""
    elements: tuple[Element, ...] = ()
    known: tuple[str, ...] = ()


@cache
def _opened(name: str) -> tuple[Backend, str]:
    backend = open_backend(name)
    return backend, backend.describe().platform


def _of_some_size(program: Program, settings: Settings) -> list[tuple[Array, ...]]:
    """Drawn input sets, unknown dimension sizes being the first of several that the program takes.

    Raises:
        EvaluationError: when it takes none of them.
    """
    if not is_dynamic(program):
        return drawn(program, settings.seed)
    reasons: list[EvaluationError] = []
    for size in SIZES:
        sets = drawn(program, settings.seed, size)
        try:
            with limited(settings.seconds):
                evaluate(program, sets[0])
        except EvaluationError as error:
            reasons.append(error)
        else:
            return sets
    raise reasons[0]


def _made_over(unit: Unit, sets: list[tuple[Array, ...]], found: list[_Outcome]) -> Unit:
    """A program of unknown sizes made over for those of the inputs, as backends need it.

    If it does not mean the same for the reference, that is an outcome of its own.
    """
    try:
        static = of_sizes(unit, sets[0])
    except Unreadable as error:
        raise _Unsupported(str(error), "not implemented by the backend") from None
    try:
        before, after = (evaluate(one.flat.program, sets[0]) for one in (unit, static))
    except EvaluationError as error:
        raise _Unsupported(str(error)) from None
    if not all(
        a.shape == b.shape and alike(a, b).all() for a, b in zip(before, after, strict=True)
    ):
        message = "with sizes written into it by jaxlib's shape refinement it means something else"
        found.append(_Outcome(Verdict.DIVERGENT, "sizes", message))
    return static


def _inputs(unit: Unit, settings: Settings) -> tuple[list[tuple[Array, ...]], tuple[str, ...]]:
    """The sets of inputs, and what is to be said of them."""
    program = unit.flat.program
    if settings.inputs is None or not program.main.arguments:
        try:
            return _of_some_size(program, settings), ()
        except (InputsError, EvaluationError) as error:
            raise _Unsupported(str(error), "no inputs") from None
    try:
        found = given(program, load(settings.inputs), parameters(unit))
    except InputsError as error:
        raise InputsError(f"@{unit.name}: {error}") from None
    ignored = ", ".join(found.ignored)
    return [found.arrays], ((f"not taken: {ignored} of the archive",) if ignored else ())


class _Work:
    """One program on a backend: compiled once, run and judged on each set of inputs."""

    def __init__(self, unit: Unit, settings: Settings, backend: Backend, platform: str) -> None:
        self._unit, self._backend, self._platform = unit, backend, platform
        self._is_reference, self._seconds = settings.backend in RIGHT, settings.seconds
        self._settling = Settling(self.run, platform)
        search = Search(self.run, platform)
        self._explainer = Explainer(search, settings.expectations, settings.backend)
        self._executables: dict[str, Executable] = {}

    def judged(self, inputs: tuple[Array, ...]) -> _Outcome:
        """The outcome on one set of inputs."""
        program = self._unit.flat.program
        broken, notes = beyond(check(program))
        if broken and not self._unit.assertions:  # tests tell what they expect nevertheless
            return self._of_invalid(*broken[0])
        outcome = self._of_valid(program, inputs)
        told = (outcome.message, *(() if broken else notes))
        return replace(outcome, message="; ".join(filter(None, told)))

    def _of_valid(self, program: Program, inputs: tuple[Array, ...]) -> _Outcome:
        try:
            with limited(self._seconds):
                permitted = Permitted(program, inputs, self._platform, self._unit.infeeds)
        except EvaluationError as error:
            if error.operation is None:
                raise _Unsupported(str(error)) from None
            where = described(self._unit, error.operation)
            raise _Unsupported(f"{error.problem} ({where})") from None
        try:
            actual = self._results(permitted, inputs)
        except Unsupported as error:
            raise _Unsupported(str(error), "not implemented by the backend") from None
        except BackendError as error:
            refused = _refused(error)
            return self._if_known(refused) if is_single(program) else _outcome(refused)
        if self._unit.assertions:
            outcome = self._by_assertions(permitted, actual)
        elif is_single(program):
            return self._if_known(self._alone(permitted, inputs, actual))
        else:
            return self._of_several(program, inputs, permitted, actual)
        if not outcome.verdict.fails or self._is_reference:
            return outcome
        found = steps(self.run, self._platform, program, inputs, range(len(actual)))
        judgement = judge_program(permitted, actual)
        return self._explained(outcome, judgement, program, inputs, actual, found)

    def _of_several(
        self, program: Program, inputs: tuple[Array, ...], permitted: Permitted,
        actual: Sequence[Array],
    ) -> _Outcome:  # fmt: skip
        """The outcome of a program of several operations."""
        if self._is_reference:
            return _outcome(judge_program(permitted, actual))
        settled = self._settling.settled(program, inputs, actual, permitted)
        judgement = settled.judgement
        message = "; ".join(filter(None, (judgement.message, settled.note)))
        outcome = replace(_outcome(judgement), message=message)
        if not outcome.verdict.fails:
            return outcome
        return self._explained(outcome, judgement, program, inputs, actual, settled.steps)

    def _of_invalid(self, operation: Operation, ids: tuple[str, ...]) -> _Outcome:
        """A program that breaks constraints: a backend should refuse it."""
        where = described(self._unit, operation)
        message = f"breaks {', '.join(ids)} of {operation.name}"
        if not self._is_reference:
            try:
                self._compiled(self._unit.flat.program)
            except BackendError:
                return _Outcome(Verdict.REJECTED, INVALID, message, where)
            return _Outcome(Verdict.ACCEPTED, ", ".join(ids), message, where)
        return _Outcome(Verdict.REJECTED, INVALID, message, where)

    def _results(self, permitted: Permitted, inputs: tuple[Array, ...]) -> Sequence[Array]:
        if self._is_reference:
            return permitted.expected
        return next(self.run(self._unit.flat.program, [inputs]))

    def both(self, inputs: tuple[Array, ...]) -> tuple[Sequence[Array] | None, ...]:
        """What the reference and the backend make of a set of inputs, each None where nothing."""
        program = self._unit.flat.program
        try:
            expected = evaluate(program, inputs, infeeds=self._unit.infeeds)
        except EvaluationError:
            expected = None
        try:
            return expected, next(self.run(program, [inputs]))
        except BackendError:
            return expected, None

    def run(self, program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        """The backend's results of a program on each set of inputs.

        Raises:
            BackendError: the backend's answer, when it is an error.
        """
        executable = self._compiled(program)
        for inputs in sets:
            try:
                yield executable.execute(inputs)
            except BackendError:
                raise
            except Exception as error:
                raise Failed(f"{type(error).__name__}: {error}") from error

    def _compiled(self, program: Program) -> Executable:
        refusal = self._backend.refusal(program)
        if refusal is not None:
            raise refusal
        try:
            whole = program is self._unit.flat.program
            text = self._unit.text if whole and self._unit.text else emit(program)
            if text not in self._executables:
                while len(self._executables) >= KEPT:
                    del self._executables[next(iter(self._executables))]
                self._executables[text] = self._backend.compile(text, program)
            return self._executables[text]
        except EmitError as error:
            raise Unsupported(str(error)) from None
        except BackendError:
            raise
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}") from error

    def _alone(
        self, permitted: Permitted, inputs: tuple[Array, ...], actual: Sequence[Array]
    ) -> Judgement:
        """The judgement on a program of one operation, by that op's own rule."""
        program = self._unit.flat.program
        rule = rule_of(program.main.body.operations[-2])
        assert rule is not None
        return judge(program, inputs, permitted.expected, actual, rule, platform=self._platform)

    def _if_known(self, judgement: Judgement) -> _Outcome:
        """The outcome of a program of one operation: that is the one that goes wrong."""
        outcome = _outcome(judgement)
        if not outcome.verdict.fails:
            return outcome
        operation = self._unit.flat.program.main.body.operations[-2]
        where, known = described(self._unit, operation), self._explainer.known(operation, judgement)
        return replace(outcome, operation=where, known=known)

    def _by_assertions(self, permitted: Permitted, actual: Sequence[Array]) -> _Outcome:
        """The worst of a test program's own assertions."""
        bad = malformed(permitted.expected, actual)
        if bad is not None:
            return _Outcome(Verdict.DIVERGENT, *bad)
        outcomes = [_Outcome(Verdict.PASS)]
        for number, assertion in enumerate(self._unit.assertions):
            got, want = actual[2 * number], actual[2 * number + 1]
            fails = assertion.fails(got, want)
            if fails.any() and assertion.is_near:
                fails &= ~self._as_right(permitted, 2 * number, got, want)
            if not fails.any():
                continue
            open_ = _left_open(permitted, 2 * number) & fails
            verdict, kind = Verdict.DIVERGENT, "expectation"
            if open_.all() or (open_ == fails).all():
                verdict, kind = Verdict.UNSPECIFIED, permitted.reasons[0]
            outcomes.append(_failed(verdict, kind, assertion.name, fails, got, want))
        return max(outcomes, key=lambda one: one.verdict.severity)

    def _as_right(self, permitted: Permitted, number: int, got: Array, want: Array) -> Array:
        """Which elements may be either: expected values are some backend's own, and rounded.

        Where the assertion permits less than the roundings of the program come to, an expected
        value that a backend may give is no reason to find fault with another such value.
        """
        either = permits(permitted, number, want)
        return either if self._is_reference else either & permits(permitted, number, got)

    def _explained(
        self, outcome: _Outcome, judgement: Judgement, program: Program,
        inputs: tuple[Array, ...], actual: Sequence[Array], found: Steps | None,
    ) -> _Outcome:  # fmt: skip
        """The outcome with the operation that goes wrong first, or first of those not known."""
        infeeds = self._unit.infeeds
        why = self._explainer.explained(program, inputs, actual, judgement, found, infeeds)
        fault = why.new or why.first
        if fault is None:
            return outcome
        where = described(self._unit, fault.operation, fault.within)
        elements = fault.judgement.elements or outcome.elements
        kind, first = outcome.kind, f"first wrong: {self._told(fault)}: {fault.judgement.message}"
        if why.is_known or why.judgement is None:
            if self._unit.assertions:
                kind = fault.judgement.kind or kind
            message, known = f"{outcome.message}; {first}", why.known if why.is_known else ()
            return _Outcome(outcome.verdict, kind, message, where, elements, known)
        left, ids = why.judgement, ", ".join(why.known)
        message = f"{left.message}; beside what is known as {ids}, {first}"
        if why.new is None:
            message = f"{left.message}; {first}, known as {ids}; what else is wrong was not found"
        return _Outcome(left.verdict, left.kind, message, where, elements)

    def _told(self, fault: Fault) -> str:
        """The operation at fault, and those without which it is right."""
        told = described(self._unit, fault.operation, fault.within)
        others = [one for one in fault.group if one is not fault.operation]
        if others:
            told += ", together with " + ", ".join(described(self._unit, one) for one in others)
        return told


def _left_open(permitted: Permitted, number: int) -> Array:
    """Which elements of a result depend on what the specification leaves open."""
    want = permitted.expected[number]
    varying = np.zeros(want.shape, np.bool_)
    for one in permitted.filled():
        varying |= ~alike(want, one[number])
    return varying


def _outcome(judgement: Judgement) -> _Outcome:
    return _Outcome(
        judgement.verdict, judgement.kind, judgement.message, elements=judgement.elements
    )


def _refused(error: BackendError) -> Judgement:
    verdict, kind = Verdict.CRASHED, "internal error"
    if isinstance(error, Rejected):
        verdict, kind = Verdict.REJECTED, "refused as invalid"
    return Judgement(verdict, kind, str(error), 0, 0, None, None, (), Errors())


def _failed(
    verdict: Verdict, kind: str, name: str, fails: Array, got: Array, want: Array
) -> _Outcome:
    index = tuple(int(i) for i in np.argwhere(fails)[0])
    one, other = (np.asarray(array[index]).reshape(1) for array in (want, got))
    message = (
        f"check.{name}: {int(fails.sum())} of {fails.size} elements; at {list(index)} "
        f"expected {decimal(one)}, got {decimal(other)}"
    )
    return _Outcome(verdict, kind, message)

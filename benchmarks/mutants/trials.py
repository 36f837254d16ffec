"""Trials of mutants: an op's cases and near misses, with the reference's results.

Each has the lines of the reference that it reaches (`benchmarks/mutants/reach.py`), so a mutant is
tried only where its changed statement runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.mutants.reach import NOTHING, Lines, Reach, Tracer
from benchmarks.mutants.swapping import LoadedFunctions, Mutant, run_with_codes
from conformance.campaign.planning import plan_of
from conformance.campaign.tasks import Task, cases_of
from conformance.catalog import Cell, cells
from conformance.executors.limit import Clock, interrupt_after
from conformance.judging.compare import judge
from conformance.stablehlo.emit import EmitError, emit
from generators.case.case import Case
from generators.case.columns import Invalid
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Program
from reference.ir.types import Array, to_bits
from reference.ops.xla.lowering import lower_program

SECONDS = 5
"""Seconds after which an evaluation counts as non-terminating."""

REFUSED = "refused"


class Endless(BaseException):
    """Raised in an evaluation that runs too long; no `except` of the reference catches it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A program on one set of inputs, or a program that must be refused (`expected` is None).

    `checked` and `evaluated` are the lines that checking and evaluating reach.
    """

    cell: Cell
    index: int
    program: Program
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...] | None
    checked: Reach
    evaluated: Reach

    def reaches(self, lines: Lines) -> bool:
        """Return whether the trial executes any of these lines."""
        return bool(lines & self.checked.every or lines & self.evaluated.every)

    def told(self) -> str:
        """Return the case, and its subject with types and attributes, as text."""
        subject = self.program.subject
        attributes = ", ".join(f"{name}={_shorten(value)}" for name, value in subject.attributes)
        types = ", ".join(str(operand.type) for operand in subject.operands)
        given = ", ".join(str(result.type) for result in subject.results)
        return f"{self.cell.element_type} #{self.index}: ({types}) -> ({given}) {{{attributes}}}"


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def trials_of(op: str, columns: Sequence[str], profile: str, seed: int, most: int) -> list[Trial]:
    """Return the trials of an op in a profile, with a limit of cases per cell.

    Cells are visited round-robin, so that early trials are of many kinds.
    """
    tracer = Tracer(op)
    of_cells = [_cell_trials(cell, profile, seed, most, tracer) for cell in cells([op], columns)]
    taken: list[Trial] = []
    while of_cells := [rest for rest in of_cells if rest]:
        for rest in of_cells:
            taken.append(rest.pop(0))
    return taken


def _cell_trials(cell: Cell, profile: str, seed: int, most: int, tracer: Tracer) -> list[Trial]:
    tasks = plan_of(cell, profile, seed)
    if isinstance(cell.element_type, Invalid):
        return [
            _miss(cell, index, case.program, tracer)
            for task in tasks
            for index, case in enumerate(cases_of(task), task.start)
            if _can_be_written(case.program)
        ]
    return [
        _trial(cell, index, case.program, materialise(lower_program(case.program), recipe), tracer)
        for task in tasks
        for index, case in enumerate(_unlowered_cases(task, most), task.start)
        for recipe in case.inputs
    ]


def _unlowered_cases(task: Task, most: int) -> list[Case]:
    """Return the task's cases with XlaBuilder's ops as they are, limited to the cell's first.

    A run lowers them; here the code that lowers them is mutated.
    """
    cell, count = task.cell, max(min(task.stop, most) - task.start, 0)
    assert not isinstance(cell.element_type, Invalid)
    return cases(cell.op, cell.element_type, task.seed, count, task.start)


def _can_be_written(program: Program) -> bool:
    """Return whether a run could give the program to a backend."""
    try:
        emit(program)
    except EmitError:
        return False
    return True


def _miss(cell: Cell, index: int, program: Program, tracer: Tracer) -> Trial:
    _, checked = tracer.follow(lambda: check(program))
    return Trial(cell, index, program, (), None, checked, NOTHING)


def _trial(
    cell: Cell, index: int, program: Program, inputs: Sequence[Array], tracer: Tracer
) -> Trial:
    _, checked = tracer.follow(lambda: check(program))
    expected, evaluated = tracer.follow(lambda: evaluate(program, _copies(inputs)))
    return Trial(cell, index, program, tuple(inputs), expected, checked, evaluated)


def _copies(inputs: Sequence[Array]) -> list[Array]:
    return [array.copy() for array in inputs]  # mutants may write where nobody should


@dataclass(frozen=True, slots=True)
class Answer:
    """A mutant's results of a trial, or the reason why there are none."""

    results: list[Array] | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """A mutant's outcome: the first trial that it fails, with the reason, or else the first that it
    passes with other bits. `at_once` if its very first trial raises an error.
    """

    failed: Trial | None = None
    why: str = ""
    at_once: bool = False
    permitted: Trial | None = None


def run_trials(living: LoadedFunctions, mutant: Mutant, trials: Sequence[Trial]) -> TrialOutcome:
    """Run a mutant's trials until any fails.

    Raises:
        Impossible: when the mutant cannot take the place of the reference.
    """
    lines = frozenset(mutant.lines)
    reaching = [trial for trial in trials if trial.reaches(lines)]
    pending = iter(reaching)
    permitted: Trial | None = None
    codes = living.codes(mutant)
    while True:
        with run_with_codes(codes):
            different = _first_different(pending, lines)
        if different is None:
            return TrialOutcome(permitted=permitted)
        trial, answer = different
        why = _fault(trial, answer)
        if why:
            error = answer.results is None and not answer.refusal.startswith(REFUSED)
            return TrialOutcome(trial, why, at_once=error and trial is reaching[0])
        permitted = permitted or trial


def _first_different(pending: Iterator[Trial], lines: Lines) -> tuple[Trial, Answer] | None:
    for trial in pending:
        answer = _answer(trial, lines)
        if answer is not None and _is_detected(trial, answer):
            return trial, answer
    return None


def _answer(trial: Trial, lines: Lines) -> Answer | None:
    """Return the current reference's results of a trial; None if they must be the same."""
    try:
        with interrupt_after(SECONDS, Endless(), Clock.PROCESSOR):
            if lines & trial.checked.every:
                broken = check(trial.program)
                if broken:
                    return Answer(None, f"{REFUSED}: {broken[0][0].name} breaks {broken[0][1]}")
                if trial.expected is None:
                    return Answer([])
            if lines & trial.evaluated.every:
                results: list[Any] = list(evaluate(trial.program, _copies(trial.inputs)))
                arrays = all(isinstance(result, np.ndarray) for result in results)
                return Answer(results) if arrays else Answer(None, "results that are no arrays")
    except Endless:
        return Answer(None, "no end in sight")
    except Exception as error:
        return Answer(None, f"{type(error).__name__}: {error}")
    return None


def _is_detected(trial: Trial, answer: Answer) -> bool:
    if trial.expected is None:
        return not answer.refusal.startswith(REFUSED)
    if answer.results is None or len(answer.results) != len(trial.expected):
        return True
    pairs = zip(answer.results, trial.expected, strict=True)
    return any(
        a.dtype != b.dtype or a.shape != b.shape or not np.array_equal(to_bits(a), to_bits(b))
        for a, b in pairs
    )


def _fault(trial: Trial, answer: Answer) -> str:
    """Return a run's message about an answer; "" if it passes."""
    if answer.results is None:
        return answer.refusal
    if trial.expected is None:
        return "accepted: an invalid program counts as valid"
    judgement = judge(trial.program, trial.inputs, trial.expected, answer.results, trial.cell.rule)
    return f"{judgement.verdict.value}: {judgement.message}" if judgement.verdict.fails else ""

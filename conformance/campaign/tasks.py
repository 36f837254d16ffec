"""Tasks: some consecutive cases of a cell, from generation to records, as one pure function.

A task knows nothing of processes or stores. What it returns depends on the cell, the seed, the
range of indices and the versions installed alone; only the seconds and the memory vary.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial, reduce
from typing import Any

from conformance.backends.base import BackendError, Rejected, Unsupported, failure_of
from conformance.backends.session import Session, open_session
from conformance.catalog import Cell
from conformance.judging.judgement import merge_errors
from conformance.known.in_force import in_force
from conformance.known.rewritings.stated import Stated
from conformance.pipeline.batch import REPEATS, Bench, RefusedBatch, StopWatch, run_all
from conformance.pipeline.confirmation import conclude, conclude_miss
from conformance.pipeline.items import Inputs, Item, ItemAnswer, Unwritable
from conformance.pipeline.records import (
    ONLY_IN_BATCH,
    CaseResult,
    printable,
    refused,
    without_results,
)
from conformance.stablehlo.emit import EmitError
from conformance.verdict import Errors, LostBatch, Record, Timing, Verdict
from generators.case.case import Case
from generators.case.columns import Invalid
from generators.cells import plan
from generators.cells.columns import ordered_misses
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Program
from reference.ops.xla.lowering import lower_program

LOSING = (Verdict.CRASHED, Verdict.TIMED_OUT)
"""The verdicts on cases that a worker may have been lost over."""


@dataclass(frozen=True, slots=True)
class Task:
    """The cases of a cell from index `start` to before `stop`.

    `plans` is what they take of their op's dimensions of variation, as the plan of all its cells
    has it: whoever has made that plan can spare others to make it again.
    """

    cell: Cell
    seed: int
    start: int
    stop: int
    plans: tuple[Mapping[str, str], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The task's name in the store: of its cell and where it starts, as its end may change."""
        return f"{self.cell}:{self.start}"

    def __len__(self) -> int:
        return self.stop - self.start

    def __contains__(self, index: int) -> bool:
        return self.start <= index < self.stop

    def singles(self) -> list[Task]:
        """Return the same cases, each as a task of its own."""
        return [self._single(index) for index in range(self.start, self.stop)]

    def _single(self, index: int) -> Task:
        at = index - self.start
        plans = None if self.plans is None else self.plans[at : at + 1]
        return Task(self.cell, self.seed, index, index + 1, plans)

    def planned(self) -> Task:
        """Return the task with its plans. This plans its op up to the task's last case."""
        cell = self.cell
        if isinstance(cell.element_type, Invalid):
            return self
        made = plan.plans(cell.op, cell.element_type, self.seed, range(self.start, self.stop))
        return replace(self, plans=tuple(made))


@dataclass(frozen=True, slots=True)
class Manner:
    """Options of a worker for doing tasks. `hypotheses` are the hypotheses of expectations,
    `repeats` is the number of times that a failing case is run again. With `by_case`, results have
    the conclusion on each case.
    """

    hypotheses: tuple[Stated, ...] = ()
    repeats: int = REPEATS
    by_case: bool = False


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's records by index, their error picture, and what they cost.

    `by_case` are the conclusions on the single cases, where they were asked for.
    `lost` are batches, with cases of this task among them, that failed as a whole alone. It
    `is_of_lost_batch` where such a batch, or what is wrong in a batch alone, was among its own.
    """

    records: tuple[Record, ...]
    errors: Errors
    timing: Timing
    modules: int
    peak_rss_mb: float
    by_case: tuple[CaseResult, ...] = ()
    lost: tuple[LostBatch, ...] = ()
    is_of_lost_batch: bool = False


def run_task(task: Task) -> TaskResult:
    """Generate, evaluate, compile, run and judge the task's cases.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    return run_tasks([task])[0]


def run_tasks(tasks: Sequence[Task], manner: Manner = Manner()) -> list[TaskResult]:
    """Do tasks of one backend, their cases as one module where it takes that.

    The seconds and the modules are of all together: the tasks share the seconds by their cases,
    and the first has the modules, and the batches that were lost.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    with in_force(manner.hypotheses):
        return _run_tasks(tasks, manner)


def _run_tasks(tasks: Sequence[Task], manner: Manner) -> list[TaskResult]:
    watch = StopWatch()
    session = open_session(tasks[0].cell.backend, watch.timed)
    shared: tuple[dict[int, Any], dict[int, Any]] = {}, {}
    benches = [
        Bench(session, watch, manner.repeats, *shared, rule=task.cell.rule) for task in tasks
    ]
    lost: list[LostBatch] = []
    if any(isinstance(task.cell.element_type, Invalid) for task in tasks):
        concluded = [_run_misses(task, bench) for task, bench in zip(tasks, benches, strict=True)]
    else:
        prepared = [_prepare(task, bench) for task, bench in zip(tasks, benches, strict=True)]
        answers, modules = run_all(benches[0], prepared)
        lost = [_lost_batch(tasks, prepared, one) for one in modules]
        concluded = [
            [_concluded(task, one, answer, bench) for one, answer in zip(group, given, strict=True)]
            for task, bench, group, given in zip(tasks, benches, prepared, answers, strict=True)
        ]
    whole = sum(map(len, tasks))
    kinds = {one.record.kind for own in concluded for one in own}
    return [
        TaskResult(
            tuple(one.record for one in own),
            reduce(merge_errors, (one.errors for one in own), Errors()),
            Timing(**{part: s * len(task) / whole for part, s in watch.seconds.items()}),
            0 if number else session.compilations,
            peak_rss_mb(),
            tuple(own) if manner.by_case else (),
            () if number else tuple(lost),
            bool(lost) or ONLY_IN_BATCH in kinds,
        )
        for number, (task, own) in enumerate(zip(tasks, concluded, strict=True))
    ]


def _concluded(task: Task, item: Item, answered: ItemAnswer, bench: Bench) -> CaseResult:
    """Return the conclusion on a case."""
    if isinstance(answered.answer, Unwritable):  # no case is: a defect, and no answer of a backend
        raise answered.answer
    return conclude(task.cell, item, answered, bench)


def _lost_batch(
    tasks: Sequence[Task], prepared: Sequence[Sequence[Item]], module: RefusedBatch
) -> LostBatch:
    """Return the lost batch of a module that was refused although none of its programs was."""
    among = {id(one) for one in module.items}
    cases = tuple(
        (task.cell.op, task.cell.element_type.name, one.index)
        for task, group in zip(tasks, prepared, strict=True)
        for one in group
        if id(one) in among
    )
    verdict, kind = Verdict.UNSUPPORTED, ""
    if not isinstance(module.error, Unsupported):
        verdict, kind = failure_of(module.error)
    backend = tasks[0].cell.backend
    message = printable(str(module.error))
    return LostBatch(backend, cases, verdict, kind, message, module.failed, module.runs)


def cases_of(task: Task) -> list[Case]:
    """Return the task's cases, in order, lowered to StableHLO; near misses have no inputs."""
    cell = task.cell
    if isinstance(cell.element_type, Invalid):
        misses = ordered_misses(cell.op)[task.start : task.stop]
        return [Case(program, ()) for _, program in misses]
    made = [
        plan.case(cell.op, cell.element_type, task.seed, index, planned)
        for index, planned in enumerate(task.plans or [None] * len(task), task.start)
    ]
    return [replace(one, program=lower_program(one.program)) for one in made]


def _run_misses(task: Task, bench: Bench) -> list[CaseResult]:
    """Compile each near miss on its own: a backend that does accepts an invalid program."""
    misses = ordered_misses(task.cell.op)[task.start : task.stop]
    prepared = [
        (Item(number, program, [()], []), id_)
        for number, (id_, program) in enumerate(misses, task.start)
    ]
    return [
        conclude_miss(partial(_miss_record, task.cell, one, id_, bench), bench.repeats)
        for one, id_ in prepared
    ]


def _miss_record(cell: Cell, prepared: Item, id_: str, bench: Bench) -> Record:
    try:
        program = lower_program(prepared.program)
        bench.compile([replace(prepared, program=program)])
    except (Rejected, EmitError, ConstraintViolation):  # what cannot be written reaches no backend
        key = (cell.op, cell.element_type.name, cell.backend)
        return Record(*key, prepared.index, prepared.program.digest, Verdict.PASS)
    except BackendError as error:
        return refused(cell, prepared, error)[0]
    message = f"{cell.op} breaks {id_}, and is compiled nevertheless"
    return without_results(cell, prepared, Verdict.ACCEPTED, id_, message)


def join_results(parts: Sequence[TaskResult]) -> TaskResult:
    """Return the results of several parts of a task as a single result."""
    seconds = zip(*(astuple(part.timing) for part in parts), strict=True)
    return TaskResult(
        tuple(sorted((r for part in parts for r in part.records), key=lambda r: r.index)),
        reduce(merge_errors, (part.errors for part in parts), Errors()),
        Timing(*map(sum, seconds)),
        sum(part.modules for part in parts),
        max((part.peak_rss_mb for part in parts), default=0.0),
        tuple(one for part in parts for one in part.by_case),
        tuple(one for part in parts for one in part.lost),
        any(part.is_of_lost_batch for part in parts),
    )


def peak_rss_mb() -> float:
    """Return the peak resident memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _prepare(task: Task, bench: Bench) -> list[Item]:
    with bench.watch.timed("generation"):
        chosen = cases_of(task)
        inputs = [[materialise(one.program, recipe) for recipe in one.inputs] for one in chosen]
    with bench.watch.timed("reference"):
        return [
            Item(index, case.program, sets, _expected(case.program, sets, bench.session))
            for index, case, sets in zip(range(task.start, task.stop), chosen, inputs, strict=True)
        ]


def _expected(program: Program, sets: list[Inputs], session: Session) -> list[Inputs]:
    """Return the reference's results for each input set; none if the program will not be run."""
    return [] if session.refusal(program) else [evaluate(program, one) for one in sets]


def crash_record(task: Task, verdict: Verdict, kind: str, message: str) -> Record:
    """Return the record of a task of one case whose worker crashed or timed out.

    Made in the parent: it generates the case, and neither runs nor evaluates anything.
    """
    (case,) = cases_of(task)
    inputs = [materialise(case.program, recipe) for recipe in case.inputs[:1]] or [()]
    one = Item(task.start, case.program, inputs, [])
    return without_results(task.cell, one, verdict, kind, message)

"""Tasks: some consecutive cases of a cell, from generation to records, as one pure function.

A task does not depend on processes or stores. Its result depends only on the cell, the seed, the
range of indices and the installed versions; only the seconds and the memory vary.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial, reduce

from conformance.backends.base import BackendError, Rejected, failure_of
from conformance.backends.session import open_session
from conformance.catalog import Cell
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.judging.judgement import merge_errors
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.pipeline.batch import REPEATS, Batcher, RefusedBatch, StopWatch, run_all
from conformance.pipeline.confirmation import conclude, conclude_miss
from conformance.pipeline.items import CellItem
from conformance.pipeline.records import (
    CaseResult,
    escape_unprintable,
    record_without_results,
    refusal_record,
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
from reference.ir.op import Dialect
from reference.ops.xla.lowering import lower_program

LOSING = (Verdict.CRASHED, Verdict.TIMED_OUT)
"""The verdicts of cases whose worker may have crashed or timed out."""


@dataclass(frozen=True, slots=True)
class Task:
    """The cases of a cell from index `start` to before `stop`.

    `plans` are the parts of the op's plan that have these cases, so that a worker need not make
    the whole plan.
    """

    cell: Cell
    seed: int
    start: int
    stop: int
    plans: tuple[Mapping[str, str], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The task's name in the store: its cell and its start, as its end may change."""
        return f"{self.cell}:{self.start}"

    def __len__(self) -> int:
        return self.stop - self.start

    def __contains__(self, index: int) -> bool:
        return self.start <= index < self.stop

    def singles(self) -> list[Task]:
        """Return the same cases as tasks of one case each."""
        return [self._single(index) for index in range(self.start, self.stop)]

    def _single(self, index: int) -> Task:
        at = index - self.start
        plans = None if self.plans is None else self.plans[at : at + 1]
        return Task(self.cell, self.seed, index, index + 1, plans)

    def plan_cases(self) -> Task:
        """Return the task with its plans. This plans its op up to the task's last case."""
        cell = self.cell
        if isinstance(cell.element_type, Invalid):
            return self
        made = plan.plans(cell.op, cell.element_type, self.seed, range(self.start, self.stop))
        return replace(self, plans=tuple(made))


TaskBatch = tuple[Task, ...]
"""Tasks of one call of a worker. They are compiled as one module if the backend accepts it."""


@dataclass(frozen=True, slots=True)
class Manner:
    """The options of a run that a worker needs to run tasks."""

    hypotheses: tuple[EntryPrediction, ...] = ()
    repeats: int = REPEATS
    by_case: bool = False


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's records by index, their error statistics, and their cost.

    `by_case` are the conclusions on single cases, if requested. `lost` are batches with cases of
    this task that failed only as a batch. `is_of_lost_batch` is set if the task was in such a
    batch, or in a batch with results that are wrong only in the batch.
    """

    records: tuple[Record, ...]
    errors: Errors
    timing: Timing
    modules: int
    peak_rss_mb: float
    by_case: tuple[CaseResult, ...] = ()
    lost: tuple[LostBatch, ...] = ()
    is_of_lost_batch: bool = False


@dataclass(slots=True)
class PartialTask:
    """A task whose cases are run in several parts; `left` is the number of unfinished parts."""

    task: Task
    results: list[TaskResult]
    left: int

    def add(self, result: TaskResult) -> list[tuple[Task, TaskResult]]:
        """Add the result of a part; return the task with its result if no part is left."""
        self.results.append(result)
        self.left -= 1
        return [] if self.left else [(self.task, join_results(self.results))]


def run_tasks(tasks: Sequence[Task], manner: Manner = Manner()) -> list[TaskResult]:
    """Generate, evaluate, compile, run and judge the cases of tasks of one backend.

    The cases are compiled as one module if the backend accepts it. Seconds are divided among tasks
    by their numbers of cases. The first result has the number of modules, and the batches that were
    lost.

    Raises:
        NotAvailable: when the backend is not available.
    """
    watch = StopWatch()
    session = open_session(tasks[0].cell.backend, watch.measure)
    batcher = Batcher(session, watch, manner.repeats)
    lost: list[LostBatch] = []
    with in_force(manner.hypotheses):
        if any(isinstance(task.cell.element_type, Invalid) for task in tasks):
            concluded = [_run_misses(task, batcher) for task in tasks]
        else:
            groups = [_items_of(task, batcher) for task in tasks]
            answers, modules = run_all(batcher, groups)
            lost = [_lost_batch(module) for module in modules]
            concluded = [
                [conclude(one, answer, batcher) for one, answer in zip(*pair, strict=True)]
                for pair in zip(groups, answers, strict=True)
            ]
    whole, seconds = sum(map(len, tasks)), watch.seconds
    kinds = {result.record.kind for results in concluded for result in results}
    return [
        TaskResult(
            tuple(result.record for result in results),
            reduce(merge_errors, (result.errors for result in results), Errors()),
            Timing(**{part: s * len(task) / whole for part, s in seconds.items()}),
            0 if index else session.compilations,
            peak_rss_mb(),
            tuple(results) if manner.by_case else (),
            () if index else tuple(lost),
            bool(lost) or ONLY_IN_BATCH in kinds,
        )
        for index, (task, results) in enumerate(zip(tasks, concluded, strict=True))
    ]


def _items_of(task: Task, batcher: Batcher) -> list[CellItem]:
    """Return the task's cases with their inputs and the reference's results.

    A program that the backend is sure to refuse is not evaluated.
    """
    with batcher.watch.measure("generation"):
        cases = cases_of(task)
        inputs = [[materialise(one.program, recipe) for recipe in one.inputs] for one in cases]
    with batcher.watch.measure("reference"):
        expected = [
            [evaluate(case.program, one) for one in sets]
            if batcher.session.refusal(case.program) is None
            else []
            for case, sets in zip(cases, inputs, strict=True)
        ]
    numbered = enumerate(zip(cases, inputs, expected, strict=True), task.start)
    return [
        CellItem(index, case.program, sets, results, task.cell)
        for index, (case, sets, results) in numbered
    ]


def _lost_batch(module: RefusedBatch[CellItem]) -> LostBatch:
    """Return the report of a module that was refused although each of its programs ran."""
    cases = tuple((item.cell.op, item.cell.element_type.name, item.index) for item in module.items)
    backend, message = module.items[0].cell.backend, escape_unprintable(str(module.error))
    return LostBatch(backend, cases, *failure_of(module.error), message, module.failed, module.runs)


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
    return [replace(one, program=lower_program(one.program, keeps=Dialect.CHLO)) for one in made]


def _run_misses(task: Task, batcher: Batcher) -> list[CaseResult]:
    """Compile each near miss in isolation: a backend that compiles it accepts an invalid
    program.
    """
    misses = ordered_misses(task.cell.op)[task.start : task.stop]
    items = [
        (CellItem(index, program, [()], [], task.cell), id_)
        for index, (id_, program) in enumerate(misses, task.start)
    ]
    return [
        conclude_miss(partial(_miss_record, one, id_, batcher), batcher.repeats)
        for one, id_ in items
    ]


def _miss_record(item: CellItem, id_: str, batcher: Batcher) -> Record:
    try:
        batcher.session.compile(lower_program(item.program, keeps=Dialect.CHLO))
    except (Rejected, EmitError, ConstraintViolation):  # what cannot be written reaches no backend
        return Record(*item.key, Verdict.PASS)
    except BackendError as error:
        return refusal_record(item, error)
    message = f"{item.cell.op} breaks {id_}, and is compiled nevertheless"
    return record_without_results(item, Verdict.ACCEPTED, id_, message)


def join_results(parts: Sequence[TaskResult]) -> TaskResult:
    """Return the results of several parts of a task as one result."""
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


def crash_record(task: Task, verdict: Verdict, kind: str, message: str) -> Record:
    """Return the record of a task of one case whose worker crashed or timed out.

    The parent may call this: it generates the case, and neither runs nor evaluates anything.
    """
    (case,) = cases_of(task)
    inputs = [materialise(case.program, recipe) for recipe in case.inputs[:1]] or [()]
    one = CellItem(task.start, case.program, inputs, [], task.cell)
    return record_without_results(one, verdict, kind, message)

"""Tasks: some consecutive cases of a cell, from generation to records, as one pure function.

A task knows nothing of processes or stores. What it returns depends on the cell, the seed, the
range of indices and the versions installed alone; only the seconds and the memory vary.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import reduce

from conformance.backends.base import BackendError, Rejected, Unsupported, failure_of
from conformance.backends.session import Session, open_session
from conformance.campaign.batch import (
    ROUNDS,
    Bench,
    Inputs,
    Prepared,
    Ran,
    Results,
    StopWatch,
    inputs_of,
    run_all,
)
from conformance.catalog import Cell
from conformance.gate.classes import ANY_BITS, NOT_DETERMINISTIC
from conformance.gate.unpredictable import UNPREDICTABLE
from conformance.judging.compare import Judgement, combine, judge, merge_errors
from conformance.known.in_force import in_force, unpredictable_classes
from conformance.known.rewritings.stated import Stated
from conformance.results.inputs import pack_inputs
from conformance.stablehlo.emit import EmitError, emit
from conformance.transforms.merge import merge
from conformance.verdict import Detail, Errors, Failing, Record, Timing, Verdict
from generators.case.case import Case
from generators.case.columns import Invalid
from generators.cells import plan
from generators.cells.columns import ordered_misses
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Program
from reference.ops.structure import is_constant
from reference.ops.xla.lowering import lowered

ONLY_IN_BATCH = "only in batch"
"""The kind of a divergence that does not show when the case is compiled alone."""

INPUTS_KEPT = 1 << 20
"""Archives of inputs over this many bytes are not stored: `replay` makes them again by seed."""


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
        """The same cases, each a task of its own."""
        return [self._single(index) for index in range(self.start, self.stop)]

    def _single(self, index: int) -> Task:
        at = index - self.start
        plans = None if self.plans is None else self.plans[at : at + 1]
        return Task(self.cell, self.seed, index, index + 1, plans)

    def planned(self) -> Task:
        """The same task with its plans, which takes the plan of its op to be made so far."""
        cell = self.cell
        if isinstance(cell.element_type, Invalid):
            return self
        made = plan.plans(cell.op, cell.element_type, self.seed, range(self.start, self.stop))
        return replace(self, plans=tuple(made))


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's records by index, their error picture, and what they cost."""

    records: tuple[Record, ...]
    errors: Errors
    timing: Timing
    modules: int
    peak_rss_mb: float


def run_task(task: Task) -> TaskResult:
    """Generate, evaluate, compile, run and judge the task's cases.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    return run_tasks([task])[0]


def run_tasks(tasks: Sequence[Task], hypotheses: Sequence[Stated] = ()) -> list[TaskResult]:
    """Do tasks of one backend, their cases as one module where it takes that.

    `hypotheses` are what expectations say that it computes in place of ops.

    The seconds and the modules are of all together: the tasks share the seconds by their cases,
    and the first has the modules.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    with in_force(hypotheses):
        return _run_tasks(tasks)


def _run_tasks(tasks: Sequence[Task]) -> list[TaskResult]:
    watch = StopWatch()
    session = open_session(tasks[0].cell.backend, watch.timed)
    benches = [Bench(session, task.cell.rule, watch) for task in tasks]
    if any(isinstance(task.cell.element_type, Invalid) for task in tasks):
        concluded = [_run_misses(task, bench) for task, bench in zip(tasks, benches, strict=True)]
    else:
        prepared = [_prepare(task, bench) for task, bench in zip(tasks, benches, strict=True)]
        ran = run_all(benches[0], prepared)
        concluded = [
            [conclude(task.cell, one, how, bench) for one, how in zip(group, went, strict=True)]
            for task, bench, group, went in zip(tasks, benches, prepared, ran, strict=True)
        ]
    whole = sum(map(len, tasks))
    return [
        TaskResult(
            tuple(record for record, _ in own),
            reduce(merge_errors, (errors for _, errors in own), Errors()),
            Timing(**{part: s * len(task) / whole for part, s in watch.seconds.items()}),
            0 if number else session.compilations,
            peak_rss_mb(),
        )
        for number, (task, own) in enumerate(zip(tasks, concluded, strict=True))
    ]


def cases_of(task: Task) -> list[Case]:
    """The task's cases, in order, as StableHLO has them; near misses have no inputs."""
    cell = task.cell
    if isinstance(cell.element_type, Invalid):
        misses = ordered_misses(cell.op)[task.start : task.stop]
        return [Case(program, ()) for _, program in misses]
    made = [
        plan.case(cell.op, cell.element_type, task.seed, index, planned)
        for index, planned in enumerate(task.plans or [None] * len(task), task.start)
    ]
    return [replace(one, program=lowered(one.program)) for one in made]


def _run_misses(task: Task, bench: Bench) -> list[tuple[Record, Errors]]:
    """Compile each near miss on its own: a backend that does accepts an invalid program."""
    misses = ordered_misses(task.cell.op)[task.start : task.stop]
    return [
        (_miss_record(task.cell, Prepared(number, program, [()], []), id_, bench), Errors())
        for number, (id_, program) in enumerate(misses, task.start)
    ]


def _miss_record(cell: Cell, prepared: Prepared, id_: str, bench: Bench) -> Record:
    try:
        program = lowered(prepared.program)
        bench.compile([replace(prepared, program=program)])
    except (Rejected, EmitError, ConstraintViolation):  # what cannot be written reaches no backend
        return Record(*_key(cell, prepared), Verdict.PASS)
    except BackendError as error:
        return refused(cell, prepared, error)[0]
    message = f"{cell.op} breaks {id_}, and is compiled nevertheless"
    return _without_results(cell, prepared, Verdict.ACCEPTED, id_, message)


def joined(parts: Sequence[TaskResult]) -> TaskResult:
    """The results of several parts of a task as one."""
    seconds = zip(*(astuple(part.timing) for part in parts), strict=True)
    return TaskResult(
        tuple(sorted((r for part in parts for r in part.records), key=lambda r: r.index)),
        reduce(merge_errors, (part.errors for part in parts), Errors()),
        Timing(*map(sum, seconds)),
        sum(part.modules for part in parts),
        max((part.peak_rss_mb for part in parts), default=0.0),
    )


def peak_rss_mb() -> float:
    """The most memory that this process has had resident so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _prepare(task: Task, bench: Bench) -> list[Prepared]:
    with bench.watch.timed("generation"):
        chosen = cases_of(task)
        inputs = [[materialise(one.program, recipe) for recipe in one.inputs] for one in chosen]
    with bench.watch.timed("reference"):
        return [
            Prepared(index, case.program, sets, _expected(case.program, sets, bench.session))
            for index, case, sets in zip(
                range(task.start, task.stop), chosen, inputs, strict=True
            )
        ]  # fmt: skip


def _expected(program: Program, sets: list[Inputs], session: Session) -> list[Inputs]:
    """What the reference makes of each input set; nothing of a program that will not be run."""
    return [] if session.refusal(program) else [evaluate(program, one) for one in sets]


def conclude(cell: Cell, prepared: Prepared, ran: Ran, bench: Bench) -> tuple[Record, Errors]:
    """The verdict on a case; a failure within a batch counts only once it is confirmed alone.

    Flushed elements need no confirming: the hypothesis has been evaluated on each.
    """
    if isinstance(ran.outcome, BackendError):
        return refused(cell, prepared, ran.outcome)
    judgements = judge_all(prepared, ran.outcome, bench)
    verdict = worst_of(judgements).verdict
    if not verdict.fails or verdict is Verdict.FLUSHED or bench.rule.varies:
        return judged(cell, prepared, judgements)  # what varies need not show again
    told = _Told(prepared, bench, [(ran.outcome, judgements)])
    try:
        rounds = _rounds(told, verdict)
    except BackendError as error:
        return refused(cell, prepared, error)
    turn = _changing(rounds)
    if turn is not None and not _explained(told, rounds):
        often = (sum(told.of(one)[turn].verdict.fails for one in rounds), len(rounds))
        return _not_deterministic(cell, prepared, turn, often), Errors()
    failing = told.failing(rounds)
    if failing:  # max has the first of the severest
        worst = max(failing, key=lambda one: worst_of(one).verdict.severity)
        return judged(cell, prepared, worst)
    batch = () if _explained(told, [ran.outcome]) else ran.together
    return judged(cell, prepared, judgements, batch)


@dataclass(frozen=True, slots=True)
class _Told:
    """The judgements of a case, each worked out once: its results are mostly the same each time."""

    prepared: Prepared
    bench: Bench
    seen: list[tuple[Results, list[Judgement]]]

    def of(self, results: Results) -> list[Judgement]:
        """A judgement for each input set."""
        for before, judgements in self.seen:
            if _changing([before, results]) is None:
                return judgements
        self.seen.append((results, judge_all(self.prepared, results, self.bench)))
        return self.seen[-1][1]

    def failing(self, rounds: Sequence[Results]) -> list[list[Judgement]]:
        """The judgements of the rounds that fail."""
        return [one for one in map(self.of, rounds) if worst_of(one).verdict.fails]


def _rounds(told: _Told, verdict: Verdict) -> list[Results]:
    """The results of a failing case alone, time after time.

    A divergent program with constants is compiled anew, unless a class says how it came about: a
    compiler that folds them wrongly may read memory which is not theirs, and keep what it finds for
    every execution. What it finds may be anything, and so what is expected, too.
    """
    rounds = told.bench.run_alone(told.prepared)
    if verdict is not Verdict.DIVERGENT or not any(map(is_constant, told.prepared.program.walk())):
        return rounds
    kind = worst_of(told.of(rounds[0])).kind
    if kind and kind not in ANY_BITS and kind not in UNPREDICTABLE:
        return rounds
    again = range(1, ROUNDS)
    return [*rounds, *(one for _ in again for one in told.bench.run_alone(told.prepared))]


def _explained(told: _Told, rounds: Sequence[Results]) -> bool:
    """Whether a class says why results change, whenever they are wrong: some may be right by
    chance, or but for what is flushed."""
    unsteady = UNPREDICTABLE | unpredictable_classes()
    worst = [worst_of(one) for one in told.failing(rounds)]
    kinds = [one.kind for one in worst if one.verdict is not Verdict.FLUSHED]
    _, before = told.seen[0]  # where the case was among others, or by itself the first time
    return {*kinds} <= unsteady and bool({*kinds, worst_of(before).kind} & unsteady)


def _changing(rounds: Sequence[Results]) -> int | None:
    """The first input set whose results are not the same bits every time, None when all are."""
    for turn, first in enumerate(rounds[0]):
        for other in rounds[1:]:
            if len(first) != len(other[turn]):
                return turn
            pairs = list(zip(first, other[turn], strict=True))
            if any(a.dtype != b.dtype or a.shape != b.shape for a, b in pairs):
                return turn
            if any(a.tobytes() != b.tobytes() for a, b in pairs):
                return turn
    return None


def _not_deterministic(cell: Cell, prepared: Prepared, turn: int, often: tuple[int, int]) -> Record:
    """Return a record that says so, and how often the results were wrong in how many executions.

    Which elements differ would change from run to run.
    """
    wrong, executions = often
    message = (
        f"{NOT_DETERMINISTIC}: results change when the program is run on the same inputs again: "
        f"wrong in {wrong} of {executions} executions"
    )
    values = sum(array.size for results in prepared.expected for array in results)
    return Record(
        *_key(cell, prepared),
        Verdict.DIVERGENT,
        NOT_DETERMINISTIC,
        message,
        pairs=len(prepared.inputs),
        values=values,
        detail=_detail(prepared.program, prepared.inputs[turn], None),
    )


def judge_all(prepared: Prepared, results: Results, bench: Bench) -> list[Judgement]:
    """A judgement for each input set of a case."""
    hardware = bench.session.hardware
    with bench.watch.timed("comparison"):
        return [
            judge(prepared.program, inputs, expected, actual, bench.rule, platform=hardware)
            for inputs, expected, actual in zip(
                prepared.inputs, prepared.expected, results, strict=True
            )
        ]


def worst_of(judgements: Sequence[Judgement]) -> Judgement:
    """The one with the severest verdict, the first of several."""
    return max(judgements, key=lambda judgement: judgement.verdict.severity)


def judged(
    cell: Cell, prepared: Prepared, judgements: list[Judgement], batch: Sequence[Prepared] = ()
) -> tuple[Record, Errors]:
    """The record of a case with results; `batch` is given where only the batch shows them."""
    whole, worst = combine(judgements), worst_of(judgements)
    detail, failing = None, ()
    if batch and whole.verdict is not Verdict.PASS:
        inputs = inputs_of(batch, judgements.index(worst))
        detail = _detail(merge([p.program for p in batch]), inputs, worst)
    elif whole.verdict is not Verdict.PASS:
        detail = _detail(prepared.program, prepared.inputs[judgements.index(worst)], worst)
        failing = _failing(prepared, whole, judgements)
    record = Record(
        *_key(cell, prepared),
        verdict=whole.verdict,
        kind=ONLY_IN_BATCH if batch else whole.kind,
        message=printable(whole.message),
        pairs=len(judgements),
        values=whole.total,
        worst_ulp=whole.worst_ulp,
        budget_ulp=whole.budget_ulp,
        detail=detail,
        failing=failing,
    )
    return record, whole.errors


def _failing(
    prepared: Prepared, whole: Judgement, judgements: Sequence[Judgement]
) -> tuple[Failing, ...]:
    """All that fails in a case, what is shown first: each with the inputs that show it, where not
    the same show all."""
    turns: dict[tuple[Verdict, str], int] = {}
    for turn, judgement in enumerate(judgements):
        for one in judgement.failures:
            turns.setdefault((one.verdict, one.kind), turn)
    several = len({*turns.values()}) > 1
    found: list[Failing] = []
    for one in whole.failing:
        is_shown = (one.verdict, one.kind) == (whole.verdict, whole.kind)
        told = whole if is_shown else one
        inputs = _kept(prepared.inputs[turns[one.verdict, one.kind]]) if several else b""
        one = replace(one, message=printable(told.message), elements=told.elements, inputs=inputs)
        found.insert(0 if is_shown else len(found), one)
    return tuple(found)


def _kept(inputs: Inputs) -> bytes:
    """The archive of inputs, b"" where it is too large to be stored."""
    packed = pack_inputs(inputs)
    return packed if len(packed) <= INPUTS_KEPT else b""


def _detail(program: Program, inputs: Inputs, judgement: Judgement | None) -> Detail:
    kept = _kept(inputs)
    if judgement is None:
        return Detail(emit(program), kept, 0, 0)
    return Detail(emit(program), kept, judgement.wrong, judgement.total, judgement.elements)


def _key(cell: Cell, prepared: Prepared) -> tuple[str, str, str, int, str]:
    return cell.op, cell.element_type.name, cell.backend, prepared.index, prepared.program.digest


def refused(cell: Cell, prepared: Prepared, error: BackendError) -> tuple[Record, Errors]:
    """The record of a case that the backend answers with an error."""
    message = printable(str(error))
    if isinstance(error, Unsupported):
        return Record(*_key(cell, prepared), Verdict.UNSUPPORTED, message=message), Errors()
    return _without_results(cell, prepared, *failure_of(error), message), Errors()


def _without_results(
    cell: Cell, prepared: Prepared, verdict: Verdict, kind: str, message: str
) -> Record:
    detail = _detail(prepared.program, prepared.inputs[0], None)
    return Record(*_key(cell, prepared), verdict, kind, message, detail=detail)


def lost_record(task: Task, verdict: Verdict, kind: str, message: str) -> Record:
    """The record of a task of one case whose worker died or had to be stopped.

    Made in the parent: it generates the case, and neither runs nor evaluates anything.
    """
    (case,) = cases_of(task)
    inputs = [materialise(case.program, recipe) for recipe in case.inputs[:1]] or [()]
    one = Prepared(task.start, case.program, inputs, [])
    return _without_results(task.cell, one, verdict, kind, message)


def printable(message: str) -> str:
    """The message as text that every encoder takes: lone surrogates and NULs escaped."""
    return message.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()

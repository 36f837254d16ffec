"""Tasks: some consecutive cases of a cell, from generation to records, as one pure function.

A task knows nothing of processes or stores. What it returns depends on the cell, the seed, the
range of indices and the versions installed alone; only the seconds and the memory vary.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from time import perf_counter

from conformance.backends.base import BackendError, Failed, Rejected, Unsupported, failure_of
from conformance.backends.session import EMISSION, Compiled, Session, open_session
from conformance.catalog import Cell
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.judging.compare import Judgement, combine, judge, merge_errors
from conformance.results.inputs import pack_inputs
from conformance.stablehlo.emit import EmitError, emit
from conformance.tolerance.rule import Rule
from conformance.transforms.merge import merge
from conformance.verdict import Detail, Errors, Record, Timing, Verdict
from generators.case.case import Case
from generators.case.columns import Invalid
from generators.cells.columns import ordered_misses
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate, shared_out
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Program
from reference.ir.types import Array
from reference.ops.structure import is_constant
from reference.ops.xla.lowering import lowered

ONLY_IN_BATCH = "only in batch"
"""The kind of a divergence that does not show when the case is compiled alone."""

ROUNDS = 3
"""How often a failing case is run alone, to see whether its results change."""

INPUTS_KEPT = 1 << 20
"""Archives of inputs over this many bytes are not stored: `replay` makes them again by seed."""

Inputs = tuple[Array, ...]
Results = list[list[Array]]
"""What a case gave: the results of each of its input sets."""


@dataclass(frozen=True, slots=True)
class Task:
    """The cases of a cell from index `start` to before `stop`."""

    cell: Cell
    seed: int
    start: int
    stop: int

    @property
    def id(self) -> str:
        """The task's name in the store."""
        return f"{self.cell}:{self.start}-{self.stop}"

    def __len__(self) -> int:
        return self.stop - self.start

    def __contains__(self, index: int) -> bool:
        return self.start <= index < self.stop

    def singles(self) -> list[Task]:
        """The same cases, each a task of its own."""
        return [Task(self.cell, self.seed, i, i + 1) for i in range(self.start, self.stop)]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task's records by index, their error picture, and what they cost."""

    records: tuple[Record, ...]
    errors: Errors
    timing: Timing
    modules: int
    peak_rss_mb: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case ready to run: its input sets, and what the reference makes of each."""

    index: int
    program: Program
    inputs: list[Inputs]
    expected: list[Inputs]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a case went: its results or the backend's refusal, and the cases that ran with it."""

    outcome: Results | BackendError
    together: Sequence[Prepared]


@dataclass(frozen=True, slots=True)
class StopWatch:
    """The seconds that each part of `Timing` took."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def timed(self, part: str) -> Generator[None]:
        """Count the block's seconds towards a part of `Timing`."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Bench:
    """What the cases of a cell are run and judged with; the watch takes the session's time too."""

    session: Session
    rule: Rule
    watch: StopWatch

    def run(self, group: Sequence[Prepared]) -> list[Results]:
        """Compile the group as one module and run it on every input set.

        The k-th execution takes the k-th input set of each case, or the last of a case with fewer.

        Raises:
            BackendError: when the backend does not give results.
        """
        compiled = self.compile(group)
        results: list[Results] = [[] for _ in group]
        for turn in range(max(len(p.inputs) for p in group)):
            outputs = compiled.run(inputs_of(group, turn))
            _deal(outputs, group, turn, results)
        return results

    def run_alone(self, prepared: Prepared, verdict: Verdict) -> list[Results]:
        """Compile a failing case alone and run each input set several times on end.

        A divergent program with constants is compiled anew each time: a compiler that folds them
        wrongly may read memory which is not theirs, and keep what it finds for every execution.

        Returns:
            The results of the first time, of the second time, and so on.

        Raises:
            BackendError: when the backend does not give results.
        """
        folds = any(map(is_constant, prepared.program.walk()))
        again = folds and verdict is Verdict.DIVERGENT
        programs = [self.compile([prepared]) for _ in range(ROUNDS if again else 1)]
        times = [compiled for compiled in programs for _ in range(ROUNDS)]
        sets = [[compiled.run(inputs) for compiled in times] for inputs in prepared.inputs]
        return [list(results) for results in zip(*sets, strict=True)]

    def compile(self, group: Sequence[Prepared]) -> Compiled:
        """Compile the group as one module.

        Raises:
            EmitError: when a program of it cannot be written.
            BackendError: when the backend refuses it.
        """
        with self.watch.timed(EMISSION):
            program = group[0].program if len(group) == 1 else merge([p.program for p in group])
        return self.session.compile(program)


def inputs_of(group: Sequence[Prepared], turn: int) -> Inputs:
    """The arguments of a batch: of each case its input set of that number, or its last.

    Those of a process come together, as they are the arguments of one main.
    """
    shares = [shared_out(p.program, p.inputs[min(turn, len(p.inputs) - 1)]) for p in group]
    return tuple(
        array for process in zip(*shares, strict=True) for share in process for array in share
    )


def _deal(
    outputs: list[Array], group: Sequence[Prepared], turn: int, results: list[Results]
) -> None:
    """Share a batch's outputs out to its cases."""
    wanted = sum(len(p.expected[0]) for p in group)
    if len(group) > 1 and len(outputs) != wanted:
        raise Failed(f"{wanted} results expected of the batch, got {len(outputs)}")
    dealt: list[list[Array]] = [[] for _ in group]
    for share in shared_out(group[0].program, outputs):
        at = 0
        for prepared, mine in zip(group, dealt, strict=True):
            processes = prepared.program.process_count
            count = len(share) if len(group) == 1 else len(prepared.expected[0]) // processes
            mine += share[at : at + count]
            at += count
    for prepared, mine, kept in zip(group, dealt, results, strict=True):
        if turn < len(prepared.inputs):
            kept.append(mine)


def bench_of(cell: Cell) -> Bench:
    """A session of the cell's backend, with the rule of its op and a new stop-watch.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    watch = StopWatch()
    return Bench(open_session(cell.backend, watch.timed), cell.rule, watch)


def run_task(task: Task) -> TaskResult:
    """Generate, evaluate, compile, run and judge the task's cases.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    bench = bench_of(task.cell)
    if isinstance(task.cell.element_type, Invalid):
        return _run_misses(task, bench)
    prepared = _prepare(task, bench)
    concluded = [
        conclude(task.cell, one, ran, bench)
        for one, ran in zip(prepared, _run_all(bench, prepared), strict=True)
    ]
    return TaskResult(
        tuple(record for record, _ in concluded),
        reduce(merge_errors, (errors for _, errors in concluded), Errors()),
        Timing(**bench.watch.seconds),
        bench.session.compilations,
        peak_rss_mb(),
    )


def cases_of(task: Task) -> list[Case]:
    """The task's cases, in order, as StableHLO has them; near misses have no inputs."""
    cell = task.cell
    if isinstance(cell.element_type, Invalid):
        misses = ordered_misses(cell.op)[task.start : task.stop]
        return [Case(program, ()) for _, program in misses]
    made = cases(cell.op, cell.element_type, task.seed, len(task), task.start)
    return [replace(case, program=lowered(case.program)) for case in made]


def _run_misses(task: Task, bench: Bench) -> TaskResult:
    """Compile each near miss on its own: a backend that does accepts an invalid program."""
    misses = ordered_misses(task.cell.op)[task.start : task.stop]
    records = [
        _miss_record(task.cell, Prepared(number, program, [()], []), id_, bench)
        for number, (id_, program) in enumerate(misses, task.start)
    ]
    timing = Timing(**bench.watch.seconds)
    return TaskResult(tuple(records), Errors(), timing, bench.session.compilations, peak_rss_mb())


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
        reduce(merge_errors, (part.errors for part in parts)),
        Timing(*map(sum, seconds)),
        sum(part.modules for part in parts),
        max(part.peak_rss_mb for part in parts),
    )


def peak_rss_mb() -> float:
    """The most memory that this process has had resident so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _prepare(task: Task, bench: Bench) -> list[Prepared]:
    with bench.watch.timed("generation"):
        chosen = cases_of(task)
        inputs = [[materialise(case.program, recipe) for recipe in case.inputs] for case in chosen]
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


def _run_all(bench: Bench, group: Sequence[Prepared]) -> list[Ran]:
    """Run a task's cases, those that the backend would refuse unseen not even in the batch."""
    refusals = [bench.session.refusal(one.program) for one in group]
    together = [one for one, error in zip(group, refusals, strict=True) if error is None]
    ran: dict[int, Ran] = {}
    for same in _by_grid(together):
        found = _run_together(bench, same)
        ran |= {one.index: outcome for one, outcome in zip(same, found, strict=True)}
    return [
        ran[one.index] if error is None else Ran(error, [one])
        for one, error in zip(group, refusals, strict=True)
    ]


def _by_grid(group: Sequence[Prepared]) -> list[list[Prepared]]:
    """The cases that can be one module: those of one process grid."""
    grids: dict[tuple[int, int] | None, list[Prepared]] = {}
    for one in group:
        grids.setdefault(one.program.process_grid, []).append(one)
    return list(grids.values())


def _run_together(bench: Bench, group: Sequence[Prepared]) -> list[Ran]:
    """Run a group as one module; where the backend refuses it, find out which cases it refuses."""
    try:
        return [Ran(results, group) for results in bench.run(group)]
    except BackendError as error:
        if len(group) == 1:
            return [Ran(error, group)]
    ran: list[Ran] = []
    for one in group:  # alone until one is taken: most likely the backend refuses the whole cell
        ran += _run_together(bench, [one])
        if not isinstance(ran[-1].outcome, BackendError):
            break
    rest = group[len(ran) :]
    middle = (len(rest) + 1) // 2
    for part in (rest[:middle], rest[middle:]):
        ran += _run_together(bench, part) if part else []
    return ran


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
    try:
        rounds = bench.run_alone(prepared, verdict)
    except BackendError as error:
        return refused(cell, prepared, error)
    turn = _changing(rounds)
    if turn is not None and not _is_unsteady(prepared, rounds, bench):
        return _not_deterministic(cell, prepared, turn), Errors()
    alone = judge_all(prepared, rounds[0], bench)
    if worst_of(alone).verdict.fails:
        return judged(cell, prepared, alone)
    return judged(cell, prepared, judgements, ran.together)


def _changing(rounds: Sequence[Results]) -> int | None:
    """The first input set whose results are not the same bits every time, None when all are."""
    for turn, first in enumerate(rounds[0]):
        for other in rounds[1:]:
            pairs = list(zip(first, other[turn], strict=False))
            if any(a.dtype != b.dtype or a.shape != b.shape for a, b in pairs):
                return turn
            if any(a.tobytes() != b.tobytes() for a, b in pairs):
                return turn
    return None


def _is_unsteady(prepared: Prepared, rounds: Sequence[Results], bench: Bench) -> bool:
    """Whether a class explains all that is wrong each time, and that it is not always the same."""
    labels = {one.label for one in bench.rule.deviations if one.unsteady}
    return bool(labels) and all(
        worst_of(judge_all(prepared, results, bench)).kind in labels for results in rounds
    )


def _not_deterministic(cell: Cell, prepared: Prepared, turn: int) -> Record:
    """A record that says so and no more: which elements differ would change from run to run."""
    message = (
        f"{NOT_DETERMINISTIC}: results change when the program is run on the same inputs again"
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
    turn = judgements.index(worst)
    detail = None
    if whole.verdict is not Verdict.PASS:
        program, inputs = prepared.program, prepared.inputs[turn]
        if batch:
            program = merge([p.program for p in batch])
            inputs = inputs_of(batch, turn)
        detail = _detail(program, inputs, worst)
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
    )
    return record, whole.errors


def _detail(program: Program, inputs: Inputs, judgement: Judgement | None) -> Detail:
    packed = pack_inputs(inputs)
    kept = packed if len(packed) <= INPUTS_KEPT else b""
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

"""Planning: from options to cells and tasks, deterministically."""

from __future__ import annotations

import zlib
from collections.abc import Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.backends.registry import parse_all
from conformance.campaign.tasks import Task, TaskBatch
from conformance.catalog import CATALOG, Cell, Row, cells
from conformance.errors import UsageError, describe_unknown
from conformance.executors.executor import LOCAL, Engine
from conformance.gate.baselines.baseline import ReadBaseline
from conformance.gate.expectations import Expectation, is_crash_known, is_overwriting_known
from conformance.gate.files import Given
from conformance.limits import IDENTITY, LIMITS, Limits
from conformance.pipeline.batch import REPEATS
from conformance.results.store import CellKey
from generators.case.columns import Invalid
from generators.cells.columns import miss_count
from generators.cells.plan import needed_cases

CASES_PER_MODULE = 32
"""Number of cases of a batch of tasks, which is compiled as one module. With more, a case costs
hardly less (measured).
"""

PROFILES: dict[str, int] = {"smoke": 2, "standard": 8, "deep": 100}
"""Cases per cell of an op whose row has no weight of its own."""

SPARING = "standard"
"""The profile in which a cell ends with the last case that covers anything new.

New are values of its op's dimensions and pairs of values.
"""

FASTEST = "smoke"
"""The profile in which a unit of weight adds a single case to an op's cell instead of multiplying
the cases. An op of few columns has as many cases as fill a module, times its weight if that is
below 1: enough to cover every value of every dimension in some column.
"""

MISSES_PER_ID: dict[str, int] = {"smoke": 1, "standard": 4, "deep": 1000}
"""The largest number of near misses of each constraint, by profile."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run. Patterns are shell-style; no pattern means everything.

    `shard` is (i, n): the i-th of n parts, counted from 1. A failing case is run again `repeats`
    times. `jobs` None chooses by the backend.
    `backend_versions` are versions of backends, as `--backend-version` takes them. The run is
    compared with `baseline`; `at_least` is the share of planned cells that must be tested. The run
    ends after `budget` seconds; cases that passed before are taken from the folder `cache`. Workers
    run where `engine` says.
    """

    out: Path
    backends: tuple[str, ...] = ("cpu",)
    ops: tuple[str, ...] = ()
    element_types: tuple[str, ...] = ()
    profile: str = "standard"
    seed: int = field(default=0, metadata=IDENTITY)
    shard: tuple[int, int] = (1, 1)
    jobs: int | None = None
    limits: Limits = LIMITS
    repeats: int = field(default=REPEATS, metadata=IDENTITY)
    expectations: Given = None
    backend_versions: tuple[str, ...] = ()
    fresh: bool = False
    strict: bool = False
    baseline: ReadBaseline | None = None
    at_least: float | None = None
    budget: float | None = None
    cache: Path | None = None
    engine: Engine = LOCAL
    command: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells that a run tests, the cells that it leaves out, and its tasks in order.

    The tasks are as drafted; `drop_unneeded_cases` may remove cases.
    """

    cells: tuple[Cell, ...]
    filtered: tuple[CellKey, ...]
    tasks: tuple[Task, ...]


def plan(options: Options) -> Plan:
    """Return the plan for these options, which depends on nothing else.

    Raises:
        UsageError: for a backend, op, type or profile that does not exist, or an invalid shard.
    """
    _check(options)
    backends = [choice.name for choice in parse_all(options.backends)]
    everything = cells(backends=backends)
    _check_patterns(options)
    chosen = set(cells_of(options.ops, options.element_types, backends, options.shard))
    tested = tuple(cell for cell in everything if cell in chosen)
    return Plan(
        tested,
        tuple(cell.key for cell in everything if cell not in chosen),
        tuple(t for cell in tested for t in _draft_tasks(cell, options.profile, options.seed)),
    )


def plan_of(cell: Cell, profile: str, seed: int) -> list[Task]:
    """Return the tasks of a cell, in order, with their cases."""
    tasks = [drop_unneeded_cases(task, profile) for task in _draft_tasks(cell, profile, seed)]
    return [task for task in tasks if len(task)]


def drop_unneeded_cases(task: Task, profile: str) -> Task:
    """Return the task without the cases that its cell does not need, possibly without any. All
    cells of the op are planned for this.
    """
    cell = task.cell
    if profile != SPARING or isinstance(cell.element_type, Invalid):
        return task
    if task.stop <= PROFILES[profile]:  # these are every cell's
        return task
    reaching = needed_cases(cell.op, task.seed, cases_of(cell.row, profile))
    count = max(reaching[cell.element_type.name], PROFILES[profile])
    return replace(task, stop=max(task.start, min(task.stop, count)))


def _draft_tasks(cell: Cell, profile: str, seed: int) -> list[Task]:
    """Return the tasks of a cell with as many cases as its row gives it."""
    count = cases_of(cell.row, profile)
    if isinstance(cell.element_type, Invalid):
        count = miss_count(cell.op, MISSES_PER_ID.get(profile, PROFILES[profile]))
    return [
        Task(cell, seed, start, min(start + CASES_PER_MODULE, count))
        for start in range(0, count, CASES_PER_MODULE)
    ]


def cases_of(row: Row, profile: str) -> int:
    """Return the largest number of cases of a cell of an op in a profile, without near misses."""
    if profile != FASTEST:
        return row.cases(PROFILES[profile])
    columns = sum(not isinstance(column, Invalid) for column in row.columns)
    filling = int(CASES_PER_MODULE * min(row.weight, 1)) // columns
    standard = row.cases(PROFILES["standard"])
    return max(PROFILES[FASTEST] - 1 + int(row.weight), min(filling, standard))


def make_batches(tasks: Iterable[Task], apart: Container[Cell] = ()) -> Generator[TaskBatch]:
    """Yield tasks in batches of one op and backend that can be one module.

    To compile a module takes twice as long as to compile one more small program within it. Near
    misses are compiled in isolation, and so are the cases of the cells in `apart`. These do not end
    the batch of the tasks around them, so they may be yielded before tasks that precede them.
    """
    batch: list[Task] = []
    room = CASES_PER_MODULE
    for task in tasks:
        cell = task.cell
        other = {(one.cell.op, one.cell.backend) for one in batch} != {(cell.op, cell.backend)}
        is_alone = cell in apart or isinstance(cell.element_type, Invalid)
        if batch and (other or (len(task) > room and not is_alone)):
            yield tuple(batch)
            batch, room = [], CASES_PER_MODULE
        if is_alone:
            yield (task,)
            continue
        batch.append(task)
        room -= len(task)
    if batch:
        yield tuple(batch)


def harmful_cells(
    tasks: Iterable[Task], expectations: Sequence[Expectation]
) -> tuple[set[Cell], set[Cell]]:
    """Return the cells of tasks that are known to crash or time out, and the cells that corrupt
    memory.
    """
    cells = {task.cell for task in tasks}
    crashing = {cell for cell in cells if is_crash_known(expectations, cell.key)}
    return crashing, {cell for cell in cells if is_overwriting_known(expectations, cell.key)}


def _check(options: Options) -> None:
    if options.profile not in PROFILES:
        raise UsageError(describe_unknown("profile", options.profile, PROFILES))
    part, parts = options.shard
    if not 1 <= part <= parts:
        raise UsageError(f"shard {part}/{parts} does not exist: i/n needs 1 <= i <= n")


def _check_patterns(options: Options) -> None:
    for pattern in options.ops:
        try:
            cells([pattern])
        except LookupError:
            raise UsageError(describe_unknown("op", pattern, CATALOG)) from None
    for pattern in options.element_types:
        try:
            cells((), [pattern])
        except LookupError:
            names = dict.fromkeys(t.name for row in CATALOG.values() for t in row.columns)
            raise UsageError(describe_unknown("element type", pattern, names)) from None


def cells_of(
    ops: Sequence[str],
    element_types: Sequence[str],
    backends: Sequence[str],
    shard: tuple[int, int],
) -> list[Cell]:
    """Return the cells that the patterns match; only the shard's cells if there are shards."""
    return _shard(cells(ops, element_types, backends), shard)


def _shard(chosen: list[Cell], shard: tuple[int, int]) -> list[Cell]:
    """Return every n-th cell of a fixed shuffle, so that no shard gets all cells of a costly
    type.
    """
    part, parts = shard
    shuffled = sorted(chosen, key=lambda cell: (zlib.crc32(str(cell).encode()), str(cell)))
    return shuffled[part - 1 :: parts]

"""Processes of a grid, executed one at a time: each until it waits for another, in turn.

A process is a greenlet: which one goes on is decided by their order alone, so an evaluation is the
same every time. Where none can go on, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from reference.ir.errors import EvaluationError, described
from reference.ir.processes import Process, ProcessGrid, ProcessId, processes
from reference.ir.program import Operation

_current: ContextVar[ProcessId] = ContextVar("process", default=(0, 0))


def current_process() -> ProcessId:
    """The process that is being evaluated: a hook that keeps values keeps them by process."""
    return _current.get()


_visited: ContextVar[Process | None] = ContextVar("visited", default=None)


def visited() -> Process:
    """The process at the operation that communicated last: a hook may ask again what it took.

    Raises:
        LookupError: when none has communicated yet.
    """
    process = _visited.get()
    if process is None:
        raise LookupError("no operation has communicated")
    return process


def _again(process: ProcessId, grid: ProcessGrid, posted: Mapping[ProcessId, Any]) -> Process:
    """The process with what has been handed in at an operation, without effects."""

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        return [posted[one] for one in wanted]

    return Process(process, grid, lambda _: None, take, lambda _: None)


Meeting = tuple[object, int]
"""An operation, and how many times the process has executed it before."""

Start = Callable[["Member"], tuple[Any, ...]]
"""start(member): what a process executes, given its place in the grid; its results."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """What a process waits for: an operation, and a function that says for which processes."""

    operation: Operation
    missing: Callable[[], Sequence[ProcessId]]


@dataclass(slots=True)
class Member:
    """A process as its own evaluation sees it."""

    id: ProcessId
    grid: Grid | None = None

    @property
    def shape(self) -> ProcessGrid:
        """The numbers of replicas and partitions."""
        return (1, 1) if self.grid is None else self.grid.shape

    def at(self, operation: Operation) -> Process:
        """The process at an execution of an operation that communicates."""
        if self.grid is None:
            return _alone(self.id)
        grid, meeting = self.grid, self.grid.arrive(operation, self.id)
        _visited.set(_again(self.id, self.shape, grid.posted(meeting)))
        return Process(
            self.id,
            self.shape,
            lambda value: grid.post(meeting, self.id, value),
            lambda wanted: grid.take(meeting, self.id, wanted, operation),
            lambda is_ready: self.wait_until(operation, is_ready),
        )

    def wait_until(self, operation: Operation, is_ready: Callable[[], bool]) -> None:
        """Let others go on until something has happened.

        Raises:
            EvaluationError: when it never will.
        """
        if self.grid is not None and not is_ready():
            others = [one for one in processes(self.shape) if one != self.id]
            self.grid.wait(self.id, operation, lambda: () if is_ready() else others)


def _alone(process: ProcessId) -> Process:
    """The only process there is: it meets nobody but itself."""
    posted: dict[ProcessId, Any] = {}
    _visited.set(_again(process, (1, 1), posted))

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        strange = [one for one in wanted if one != process]
        if strange:
            raise EvaluationError(f"there is no process {strange[0]}: the program is run by one")
        return [posted[process] for _ in wanted]

    def post(value: Any) -> None:
        posted[process] = value

    return Process(process, (1, 1), post, take, lambda _: None)


@dataclass(slots=True)
class _Running:
    """A process: the greenlet that executes it, what it waits for, and its results in the end."""

    id: ProcessId
    greenlet: greenlet
    wait: _Wait | None = None
    results: tuple[Any, ...] | None = None

    @property
    def can_go_on(self) -> bool:
        return self.results is None and (self.wait is None or not self.wait.missing())


class Grid:
    """The processes of one evaluation, and what they hand one another."""

    def __init__(self, shape: ProcessGrid, *, same_program: bool = True) -> None:
        """A grid of so many replicas and partitions.

        Processes of the same program meet at the same operation; those of different programs at
        operations that are alike but for the names of values.
        """
        self.shape = shape
        self._same_program = same_program
        self._running: dict[ProcessId, _Running] = {}
        self._hub = getcurrent()
        self._turns: dict[tuple[object, ProcessId], int] = {}
        self._posted: dict[Meeting, dict[ProcessId, Any]] = {}
        self._left: dict[Meeting, int] = {}

    def run(self, starts: Sequence[Start]) -> list[tuple[Any, ...]]:
        """The results of every process, in the order of their flattened ids.

        Raises:
            EvaluationError: of the process whose evaluation fails, or when all that are not done
                wait for one another; names processes and operations.
        """
        self._hub = getcurrent()
        for process, start in zip(processes(self.shape), starts, strict=True):
            running = _Running(process, greenlet(start))
            running.greenlet.gr_context = context = copy_context()  # numpy's error state in it
            context.run(_current.set, process)
            self._running[process] = running
        try:
            self._schedule()
        finally:
            for running in self._running.values():
                running.greenlet.throw(GreenletExit)  # ends those that still wait
        return [running.results or () for running in self._running.values()]

    def _schedule(self) -> None:
        """Let the first process go on that can, until all are done."""
        while any(running.results is None for running in self._running.values()):
            ready = next((one for one in self._running.values() if one.can_go_on), None)
            if ready is None:
                raise EvaluationError(self._deadlock())
            ready.wait = None
            given = ready.greenlet.switch(Member(ready.id, self))
            if ready.greenlet.dead:
                ready.results = given

    def _deadlock(self) -> str:
        """Who waits for whom, and where."""
        lines: list[str] = []
        for running in self._running.values():
            if running.wait is not None:
                wanted = ", ".join(map(str, running.wait.missing()))
                at = described(running.wait.operation)
                lines.append(f"process {running.id} waits for {wanted} at {at}")
            else:
                lines.append(f"process {running.id} is done")
        return f"deadlock: {'; '.join(lines)}"

    # --- What processes do ------------------------------------------------------------------------

    def arrive(self, operation: Operation, process: ProcessId) -> Meeting:
        """The meeting that a process comes to when it executes an operation."""
        key: object = id(operation)
        if not self._same_program:
            kinds = tuple(value.type for value in operation.operands)
            key = (operation.name, operation.attributes, kinds)
        turn = self._turns[key, process] = self._turns.get((key, process), -1) + 1
        self._leave((key, turn - 1))
        return (key, turn)

    def _leave(self, meeting: Meeting) -> None:
        """Forget what was handed in at a meeting that every process has left."""
        if meeting[1] >= 0:
            left = self._left[meeting] = self._left.get(meeting, 0) + 1
            if left == len(self._running):
                del self._left[meeting]
                self._posted.pop(meeting, None)

    def post(self, meeting: Meeting, process: ProcessId, value: Any) -> None:
        """Hand a value in at a meeting."""
        self.posted(meeting)[process] = value

    def posted(self, meeting: Meeting) -> dict[ProcessId, Any]:
        """What has been handed in at a meeting so far."""
        return self._posted.setdefault(meeting, {})

    def take(
        self,
        meeting: Meeting,
        process: ProcessId,
        wanted: Sequence[ProcessId],
        operation: Operation,
    ) -> list[Any]:
        """What these processes have handed in at a meeting, once all of them have.

        Raises:
            EvaluationError: when one of them is not in the grid, or never comes.
        """
        strange = [one for one in wanted if one not in self._running]
        if strange:
            raise EvaluationError(f"there is no process {strange[0]} in a grid of {self.shape}")

        def missing() -> Sequence[ProcessId]:
            here = self._posted.get(meeting, {})
            return [one for one in wanted if one not in here]

        if missing():
            self.wait(process, operation, missing)
        here = self._posted[meeting]
        return [here[one] for one in wanted]

    def wait(
        self, process: ProcessId, operation: Operation, missing: Callable[[], Sequence[ProcessId]]
    ) -> None:
        """Let other processes go on until none is missing."""
        self._running[process].wait = _Wait(operation, missing)
        self._hub.switch()

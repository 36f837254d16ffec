"""Processes of a grid, executed one at a time: each runs until it waits for another.

A process is a greenlet. The order of processes alone decides which runs next, so that an evaluation
is deterministic. It is an error if all processes wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from reference.ir.errors import DeadlockError, EvaluationError, describe_operation
from reference.ir.processes import Process, ProcessGrid, ProcessId, processes
from reference.ir.program import Operation

_current: ContextVar[ProcessId] = ContextVar("process", default=(0, 0))


def current_process() -> ProcessId:
    """Return the process under evaluation, so that hooks can store values by process."""
    return _current.get()


_last_process: ContextVar[Process | None] = ContextVar("visited", default=None)


def last_process() -> Process:
    """Return the process at the operation that communicated last, so that a hook can query it
    again.

    Raises:
        LookupError: if no operation has communicated yet.
    """
    process = _last_process.get()
    if process is None:
        raise LookupError("no operation has communicated")
    return process


def _replay_process(
    process: ProcessId, grid: ProcessGrid, posted: Mapping[ProcessId, Any]
) -> Process:
    """Return a process without effects that reads the values posted at an operation."""

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        return [posted[one] for one in wanted]

    return Process(process, grid, lambda _: None, take, lambda _: None)


Rendezvous = tuple[object, int]
"""An operation and the number of times that the process has executed it before."""

Start = Callable[["GridProcess"], tuple[Any, ...]]
"""A function start(member): runs a process, given its position in the grid, and returns its
results.
"""


@dataclass(frozen=True, slots=True)
class _Wait:
    """The reason why a process waits: an operation, and a function that returns the missing
    processes."""

    operation: Operation
    missing: Callable[[], Sequence[ProcessId]]


@dataclass(slots=True)
class GridProcess:
    """A process of a grid, as its own evaluation communicates with it."""

    id: ProcessId
    grid: Grid | None = None

    @property
    def shape(self) -> ProcessGrid:
        """The numbers of replicas and partitions."""
        return (1, 1) if self.grid is None else self.grid.shape

    def at(self, operation: Operation) -> Process:
        """Return the process at an execution of an operation that communicates."""
        if self.grid is None:
            return _single_process(self.id)
        grid, rendezvous = self.grid, self.grid.join_rendezvous(operation, self.id)
        _last_process.set(_replay_process(self.id, self.shape, grid.posted_values(rendezvous)))
        return Process(
            self.id,
            self.shape,
            lambda value: grid.post(rendezvous, self.id, value),
            lambda wanted: grid.take(rendezvous, self.id, wanted, operation),
            lambda is_ready: self.wait_until(operation, is_ready),
        )

    def wait_until(self, operation: Operation, is_ready: Callable[[], bool]) -> None:
        """Let other processes run until a condition holds.

        Raises:
            EvaluationError: if it can never hold.
        """
        if self.grid is not None and not is_ready():
            others = [process for process in processes(self.shape) if process != self.id]
            self.grid.wait(self.id, operation, lambda: () if is_ready() else others)


def _single_process(process: ProcessId) -> Process:
    """Return the process of a single-process program, which only communicates with itself."""
    posted: dict[ProcessId, Any] = {}
    _last_process.set(_replay_process(process, (1, 1), posted))

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        strange = [one for one in wanted if one != process]
        if strange:
            raise EvaluationError(f"there is no process {strange[0]}: one process runs the program")
        return [posted[process] for _ in wanted]

    def post(value: Any) -> None:
        posted[process] = value

    return Process(process, (1, 1), post, take, lambda _: None)


@dataclass(slots=True)
class _RunningProcess:
    """A process: its greenlet, the reason why it waits, and finally its results."""

    id: ProcessId
    greenlet: greenlet
    wait: _Wait | None = None
    results: tuple[Any, ...] | None = None

    @property
    def can_resume(self) -> bool:
        return self.results is None and (self.wait is None or not self.wait.missing())


class Grid:
    """The processes of one evaluation and the values that they exchange."""

    def __init__(self, shape: ProcessGrid, *, same_program: bool = True) -> None:
        """Create a grid of `shape` (replicas, partitions).

        Processes of the same program communicate at the same operation. Processes of different
        programs communicate at operations that are equal except for the names of values.
        """
        self.shape = shape
        self._same_program = same_program
        self._running: dict[ProcessId, _RunningProcess] = {}
        self._hub = getcurrent()
        self._turns: dict[tuple[object, ProcessId], int] = {}
        self._posted: dict[Rendezvous, dict[ProcessId, Any]] = {}
        self._left: dict[Rendezvous, int] = {}

    def run(self, starts: Sequence[Start]) -> list[tuple[Any, ...]]:
        """Return the results of every process, in the order of flattened ids.

        Raises:
            EvaluationError: if the evaluation of a process fails, or in a deadlock; the message
                lists processes and operations.
        """
        self._hub = getcurrent()
        for process, start in zip(processes(self.shape), starts, strict=True):
            running = _RunningProcess(process, greenlet(start))
            running.greenlet.gr_context = context = copy_context()  # holds numpy's error state
            context.run(_current.set, process)
            self._running[process] = running
        try:
            self._schedule()
        finally:
            for running in self._running.values():
                running.greenlet.throw(GreenletExit)  # ends processes that still wait
        return [running.results or () for running in self._running.values()]

    def _schedule(self) -> None:
        """Resume the first process that can run, until all have finished."""
        while any(running.results is None for running in self._running.values()):
            ready = next((one for one in self._running.values() if one.can_resume), None)
            if ready is None:
                raise DeadlockError(self._deadlock())
            ready.wait = None
            given = ready.greenlet.switch(GridProcess(ready.id, self))
            if ready.greenlet.dead:
                ready.results = given

    def _deadlock(self) -> str:
        """Return a message that lists the processes in a deadlock and their operations."""
        lines: list[str] = []
        for running in self._running.values():
            if running.wait is not None:
                wanted = ", ".join(map(str, running.wait.missing()))
                at = describe_operation(running.wait.operation)
                lines.append(f"process {running.id} waits for {wanted} at {at}")
            else:
                lines.append(f"process {running.id} is done")
        return f"deadlock: {'; '.join(lines)}"

    # --- Called by processes ----------------------------------------------------------------------

    def join_rendezvous(self, operation: Operation, process: ProcessId) -> Rendezvous:
        """Return the rendezvous that a process joins by executing an operation."""
        key: object = id(operation)
        if not self._same_program:
            kinds = tuple(value.type for value in operation.operands)
            key = (operation.name, operation.attributes, kinds)
        turn = self._turns[key, process] = self._turns.get((key, process), -1) + 1
        self._leave((key, turn - 1))
        return (key, turn)

    def _leave(self, rendezvous: Rendezvous) -> None:
        """Discard the values posted at a rendezvous that every process has left."""
        if rendezvous[1] >= 0:
            left = self._left[rendezvous] = self._left.get(rendezvous, 0) + 1
            if left == len(self._running):
                del self._left[rendezvous]
                self._posted.pop(rendezvous, None)

    def post(self, rendezvous: Rendezvous, process: ProcessId, value: Any) -> None:
        """Post a value at a rendezvous."""
        self.posted_values(rendezvous)[process] = value

    def posted_values(self, rendezvous: Rendezvous) -> dict[ProcessId, Any]:
        """Return the values posted at a rendezvous so far, by process."""
        return self._posted.setdefault(rendezvous, {})

    def take(
        self,
        rendezvous: Rendezvous,
        process: ProcessId,
        wanted: Sequence[ProcessId],
        operation: Operation,
    ) -> list[Any]:
        """Return the values that these processes post at a rendezvous, once all have posted.

        Raises:
            EvaluationError: if a process is not in the grid, or never posts.
        """
        strange = [one for one in wanted if one not in self._running]
        if strange:
            raise EvaluationError(f"there is no process {strange[0]} in a grid of {self.shape}")

        def missing_processes() -> Sequence[ProcessId]:
            here = self._posted.get(rendezvous, {})
            return [one for one in wanted if one not in here]

        if missing_processes():
            self.wait(process, operation, missing_processes)
        here = self._posted[rendezvous]
        return [here[one] for one in wanted]

    def wait(
        self, process: ProcessId, operation: Operation, missing: Callable[[], Sequence[ProcessId]]
    ) -> None:
        """Let other processes run until `missing()` returns no process."""
        self._running[process].wait = _Wait(operation, missing)
        self._hub.switch()

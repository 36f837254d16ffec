"""The part of the Ray engine that runs on each node: it owns local workers, and makes calls in
them.

If a backend crashed a Ray worker, Ray would not report the worker's last message, and would take
seconds to replace it. So an agent is a process that never opens a backend: it has a
`LocalExecutor`, and a call ends on a node as it does on this machine, with the same signal, words
and limits. This module is loaded on nodes, and does not load Ray.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.errors import NotAvailable
from conformance.executors.local import Call, CallEnd, LocalExecutor
from conformance.executors.serialised_calls import SerialisedCall, run_serialised, write_file
from conformance.limits import Limits

_TICK = 0.02
"""Seconds between two checks for new calls by an agent with a free worker."""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The workers of a backend to start on a node; see `LocalExecutor`.

    `most` is the number of workers that may use the node's device, None for one per core.
    `identity` returns by name the values that must be equal on all nodes, so that they have the
    same backend; `expected` has the values of this machine.
    """

    warm_up: Callable[[], bool] | None
    limits: Limits
    preload: tuple[str, ...] = ()
    most: int | None = None
    identity: Callable[[], dict[str, str]] = dict[str, str]
    expected: tuple[tuple[str, str], ...] = ()


class Agent:
    """The workers of one node, of each backend that calls ask for. Its methods may be called from
    several threads at once.
    """

    def __init__(self, workers: int, environment: Mapping[str, str]) -> None:
        """Prepare up to `workers` worker processes, with these environment variables."""
        os.environ.update(environment)
        vars(sys.modules["__main__"]).pop("__file__", None)  # workers would load it: it is Ray's
        self._workers = workers
        self._lines: dict[bytes, _CallQueue] = {}
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="hlo-conformance-files-")

    def ready(self) -> int:
        """Return the number of this process, once it has started."""
        return os.getpid()

    def identity(self, opening: bytes) -> object:
        """Return the description of the backend on this node, from a worker."""
        function = pickle.loads(opening).identity  # noqa: S301 - of the driver
        return self._line(opening).make(Call(None, function, (), Limits.START)).value

    def make(
        self, opening: bytes, call: SerialisedCall, timeout: float, *contents: bytes
    ) -> tuple[Any, float]:
        """Make a call in a worker: its value, and the seconds that it took.

        `opening` is a pickled `WorkerSpec`, `contents` has the contents of the call's files. The
        function's return value is pickled; an exception, or the report of a crash or timeout, is
        not.

        Raises:
            NotAvailable: when workers cannot be started.
        """
        folder = Path(self._folder.name)
        with self._lock:
            for file, content in zip(call.files, contents, strict=True):
                write_file(file, content, folder)
        arguments = (call.pickled, folder)
        ended = self._line(opening).make(
            Call(None, run_serialised, arguments, timeout, call.ends_worker)
        )
        return ended.value, ended.seconds

    def rest(self, opening: bytes) -> None:
        """End the workers of a backend."""
        with self._lock:
            line = self._lines.pop(opening, None)
        if line is not None:
            line.end()

    def stop(self) -> None:
        """End all workers, and delete their files."""
        for opening in list(self._lines):
            self.rest(opening)
        self._folder.cleanup()

    def _line(self, opening: bytes) -> _CallQueue:
        with self._lock:
            if opening not in self._lines:
                given: WorkerSpec = pickle.loads(opening)  # noqa: S301 - of the driver
                jobs = min(self._workers, given.most or self._workers)
                self._lines[opening] = _CallQueue(
                    LocalExecutor(
                        jobs,
                        given.warm_up,
                        limits=given.limits,
                        preload=given.preload,
                    )
                )
            return self._lines[opening]


@dataclass(frozen=True, slots=True)
class _Ticket:
    """The name of a call, with the future that receives the end of the call."""

    ended: Future[CallEnd]


class _CallQueue:
    """Calls of several threads that one executor makes, in a thread of its own."""

    def __init__(self, executor: LocalExecutor) -> None:
        self._executor = executor
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def make(self, call: Call) -> CallEnd:
        """Push a call to the executor, and wait for its end."""
        ticket = _Ticket(Future())
        self._calls.put(replace(call, name=ticket))
        return ticket.ended.result()

    def end(self) -> None:
        """End the workers, and abandon the calls in progress."""
        self._is_over = True
        self._calls.put(None)
        self._thread.join()

    def _work(self) -> None:
        with self._executor:
            while not self._is_over:
                first = self._calls.get()
                if first is not None:
                    self._make(first)

    def _make(self, first: Call) -> None:
        """Make a call, and the calls that arrive until all have ended."""
        waiting = {first.name}
        try:
            arriving = _ArrivedCalls(first, self._calls, waiting)
            for ended in self._executor.results(arriving, tick=_TICK):
                if self._is_over:
                    raise NotAvailable("the workers were terminated")
                if ended is not None:
                    waiting.discard(ended.call.name)
                    ended.call.name.ended.set_result(ended)
        except Exception as error:
            for ticket in waiting:
                ticket.ended.set_exception(error)


class _ArrivedCalls(Iterator[Call]):
    """An iterator over arrived calls; more may arrive after a call ends."""

    def __init__(
        self, first: Call, calls: queue.SimpleQueue[Call | None], waiting: set[_Ticket]
    ) -> None:
        self._first: Call | None = first
        self._calls, self._waiting = calls, waiting

    def __next__(self) -> Call:
        call, self._first = self._first, None
        if call is None:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                raise StopIteration from None
        if call is None:  # the workers are to end
            raise StopIteration
        self._waiting.add(call.name)
        return call

"""Calls in worker processes of this machine, which may die or hang without harm to the run.

The pool is pebble's, with the changes that pool.py lists. Each worker has a memory limit of its
own, so that a backend which takes all memory ends only its own worker. Its output goes to a file;
the last message of a worker that died is read there.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Protocol, Self, TypeGuard

import psutil
from pebble import ProcessExpired

from conformance.errors import NotAvailable
from conformance.executors.interrupt import raise_if_seen
from conformance.executors.pool import LOOK_SECONDS, CallTimeout, Job, Pool
from conformance.limits import LIMITS, Limits
from conformance.phases import Phase, note_phases, read_phases, take_kept

TASKS_PER_WORKER = 200
"""Calls after which a worker is replaced, so that leaks of a compiler stay bounded."""

_WATCH = 1.0
"""Seconds between two checks of a worker whether its parent still exists."""

QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""Default environment of workers: one thread each, and few log lines."""
_STARTS = 3  # pools that may break one after the other before we give up
_TELLING = re.compile(
    r"check failed:|LLVM ERROR|what\(\)|assertion|fatal|^\w+\(\): |^double free|^corrupted ", re.I
)
_CHANGING = re.compile(r"^[FEWI]\d{4} [\d:.]+\s+\d+ |0x[0-9a-f]+|\bpid \d+\b", re.I)
_NOTES = ".phases"  # how the files end in which workers note what they are doing
_NO_LOGS = (_NOTES, ".kept", ".new")
_FATAL = re.compile(r"^F\d{4} [\d:.]+ +\d+ .*\n", re.M)
"""Pattern of the line that Abseil writes at a fatal error, before the stack trace."""
_ENDING = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
"""Signals that end a worker at once, without a handler of the compiler."""
_LOG_READ = 1 << 18  # bytes of a log's end, where a stack trace may follow the telling line


@dataclass(frozen=True, slots=True)
class Call:
    """A call for a worker: a function, a name, and a time limit in seconds.

    `ends_worker` says that the worker is replaced afterwards, because the call may have overwritten
    its memory.
    """

    name: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout: float
    ends_worker: bool = False


@dataclass(frozen=True, slots=True)
class WorkerCrash:
    """The end of a worker during a call: the signal or exit code, and its last words.

    `kept` is the value that the call left before (`conformance.phases.keep`), None for nothing.
    """

    reason: str
    last_words: str = ""
    kept: Any = None


@dataclass(frozen=True, slots=True)
class WorkerTimeout:
    """The timeout of a call, whose worker was stopped.

    `phases` are the noted phases, `kept` is the value that it left (`conformance.phases.keep`).
    `waited` is the number of seconds for which the worker waited for a processor.
    """

    seconds: float
    phases: tuple[Phase, ...] = ()
    kept: Any = None
    waited: float = field(default=0.0, compare=False)


def is_starved(value: object) -> TypeGuard[WorkerTimeout]:
    """Return whether the value of a call is a timeout that says nothing about its programs.

    The worker waited for a processor for most of the time.
    """
    return isinstance(value, WorkerTimeout) and value.waited > value.seconds / 2


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The end of a call. `value` is the return value or exception of the function, or the end of
    its worker.

    `seconds` is the time from its start to its end, as the parent sees it.
    """

    call: Call
    value: Any
    seconds: float = 0.0


class Companion(Protocol):
    """A process that works for the workers of an executor."""

    def start(self) -> None:
        """Start the process, if it has not been."""
        ...

    def end(self) -> None:
        """End the process."""
        ...


class LocalExecutor:
    """A pool of worker processes. Use as a context manager; leaving it ends the workers."""

    def __init__(
        self,
        jobs: int,
        warm_up: Callable[[], bool] | None = None,
        *,
        limits: Limits = LIMITS,
        preload: Sequence[str] = (),
        companion: Companion | None = None,
    ) -> None:
        """Prepare `jobs` workers, each of which calls `warm_up` before its first call.

        The limit of memory does not hold where `warm_up` returns False. `preload` names modules
        that are loaded before workers start. Only the first executor of a process guarantees this.
        `companion` ends after the workers.
        """
        self.companion = companion
        self._jobs, self._warm_up, self._limits = jobs, warm_up, limits
        self._preload = list(preload)
        self._urgent: deque[Call] = deque()
        self._notes: dict[Future[Any], Path] = {}
        self._numbers = itertools.count()
        self._broken = 0
        self._logs = tempfile.TemporaryDirectory(prefix="hlo-conformance-")
        for name, value in QUIET.items():  # read when numpy and XLA are loaded: inherited
            os.environ.setdefault(name, value)
        self._pool = self._new_pool()

    def _new_pool(self) -> Pool:
        set_up = partial(_set_up, self._warm_up, self._limits, self._logs.name, os.getpid())
        return Pool(self._jobs, TASKS_PER_WORKER, set_up, _context(self._preload))

    @property
    def jobs(self) -> int:
        """The number of workers."""
        return self._jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_workers()
        if self.companion is not None:
            self.companion.end()
        self._logs.cleanup()

    def _end_workers(self) -> None:
        self._pool.stop()
        self._pool.join()

    def end_workers(self) -> None:
        """End the workers; the next call starts new workers."""
        self._end_workers()
        self._pool = self._new_pool()

    def push(self, call: Call) -> None:
        """Add a call to a `results` in progress, before those that have not begun."""
        self._urgent.append(call)

    def results(
        self, calls: Iterable[Call], *, tick: float = 0.5
    ) -> Generator[CallEnd | None, None, None]:
        """Make the calls and yield how each ended, in the order in which they end.

        Yields None every `tick` seconds in which nothing ended. Twice as many calls as workers are
        queued at any time, so that no worker waits for the parent.

        Raises:
            NotAvailable: when workers cannot be started.
        """
        waiting = iter(calls)
        pending: dict[Future[Any], Call] = {}
        begun: dict[Future[Any], float] = {}
        while True:
            raise_if_seen()
            while len(pending) < 2 * self._jobs and (call := self._next(waiting)):
                pending[self._schedule(call)] = call
            # workers take calls in this order, and a lost one cannot tell when it began
            for future in itertools.islice(pending, self._jobs):
                begun.setdefault(future, time.monotonic())
            if not pending:
                return
            done, _ = wait(pending, timeout=tick, return_when=FIRST_COMPLETED)
            if not done:
                yield None
            for future in done:
                now = time.monotonic()
                call, seconds = pending.pop(future), now - begun.pop(future, now)
                value = self._value(future, self._notes.pop(future))
                if isinstance(value, BrokenProcessPool):
                    self._urgent.append(call)
                else:
                    yield CallEnd(call, value, seconds)

    def one(self, call: Call) -> Any:
        """Make a single call and return its value, its exception, or the end of its worker."""
        return next(ended for ended in self.results([call]) if ended is not None).value

    def _next(self, waiting: Iterator[Call]) -> Call | None:
        return self._urgent.popleft() if self._urgent else next(waiting, None)

    def _schedule(self, call: Call) -> Future[Any]:
        if not self._pool.active:
            self._broken += 1
            if self._broken > _STARTS:
                words = self._any_last_words()
                raise NotAvailable(f"worker processes end as soon as they start{words}")
            self.end_workers()
        notes = Path(self._logs.name) / f"{next(self._numbers)}{_NOTES}"
        made = partial(_call, notes, call.function, *call.arguments)
        future = self._pool.schedule(Job(made, call.ends_worker), timeout=call.timeout)
        self._notes[future] = notes
        return future

    def _value(self, future: Future[Any], notes: Path) -> Any:
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            return error
        self._broken = 0
        if isinstance(error, ProcessExpired):
            last_words = self._last_words(error.pid)
            return WorkerCrash(_reason(error.exitcode), last_words, take_kept(notes))
        if isinstance(error, CallTimeout):
            kept = read_phases(notes), take_kept(notes)
            return WorkerTimeout(float(error.seconds), *kept, error.waited)
        return future.result() if error is None else error

    def _last_words(self, pid: int | None) -> str:
        return _last_words(Path(self._logs.name) / str(pid))

    def _any_last_words(self) -> str:
        found = (log for log in Path(self._logs.name).iterdir() if log.suffix not in _NO_LOGS)
        logs = sorted(found, key=lambda log: log.stat().st_mtime)
        words = _last_words(logs[-1]) if logs else ""
        return f": {words}" if words else ""


def _context(preload: list[str]) -> ForkServerContext:
    """Return the context of a server that has the harness loaded, from which workers are forked.

    A spawned worker would load every module anew, which is most of the cost of replacing a worker.
    The command line is among them because a worker loads the program that it was started by. The
    server starts at once, so that it loads while the parent does.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["conformance.cli", __name__, *preload])
    forkserver.ensure_running()
    return context


def _reason(code: int) -> str:
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"


def _last_words(log: Path) -> str:
    """Return the line of a worker's output that says why it ended, or "".

    That is the last fatal line of its log, or else the last line that announces the end of the
    process in other words. Text that changes from run to run is removed.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_READ))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    fatal = _FATAL.findall(text + "\n")
    telling = fatal or [line for line in text.splitlines() if _TELLING.search(line)]
    return _CHANGING.sub("", telling[-1].strip())[:300].strip() if telling else ""


def _set_up(
    warm_up: Callable[[], bool] | None, limits: Limits, logs: str, parent: int
) -> Exception | None:
    """Prepare a worker. Return an exception, which then answers all its calls, or None."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a worker that hangs in a compiler ends at once
    threading.Thread(target=_end_after_parent, args=(parent,), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path = Path(logs) / str(os.getpid())
    # an earlier worker may have had the same number, and left its last words
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    threading.Thread(target=_end_early, args=(path,), daemon=True).start()
    try:
        limited = warm_up is None or warm_up()
        for fatal in _ENDING:
            signal.signal(fatal, signal.SIG_DFL)
        gc.freeze()  # modules are no garbage: collections need neither walk nor copy them
        if limits.memory_limit and limited:
            _limit_memory(limits.memory_limit)
    except Exception as error:
        return error
    return None


def _limit_memory(limit: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end_early(log: Path) -> None:
    """End this worker once its log reports a failed check of the compiler.

    The worker would end itself by the same signal. But before that it looks up the names of the
    functions on its stack, which takes a quarter of a second or more.
    """
    with log.open("rb") as file:
        line = ""
        while True:
            time.sleep(LOOK_SECONDS)
            line += file.read().decode("latin-1")  # no byte is cut in two
            if _FATAL.search(line):
                os.abort()
            line = line[line.rfind("\n") + 1 :]


def _end_after_parent(parent: int) -> None:
    """End this worker soon after its parent ends.

    The server that forked the worker does not report that end: it lives as long as its workers.
    """
    with suppress(psutil.Error):
        process = psutil.Process(parent)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(_WATCH)
    os.kill(os.getpid(), signal.SIGKILL)


def _call(notes: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    with note_phases(notes):
        return function(*arguments)

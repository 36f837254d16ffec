"""pebble's process pool, with workers of our own.

Differences from pebble (5.2.3):

- Messages of workers are read before ends of workers are noticed. A worker reports the outcome of a
  call, and that it begins the next call. pebble reads that in one thread, and looks for ended
  workers in another. If the parent is busy, it may notice the end first. Then the end counts for
  the call before, or for the whole pool. This happened once in some thousand ends.
- The pool looks for ended workers every `LOOK_SECONDS`, not every 0.1 s: the pool stands still for
  50 ms at each crash otherwise. Looking this often takes a hundredth of a core.
- Time limits are measured by a clock that is never set. A timeout states for how long the worker
  waited for a processor.
- A worker that cannot be set up answers every call with the error.
- A worker ends after a call that says so (`Job.ends_worker`).
- Workers end before the locks that they share are deleted. A worker that still starts could not
  find them, and would print a traceback.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import ForkServerContext
from typing import Any

from pebble import ProcessPool
from pebble.common.process import process_execute, process_exit
from pebble.common.types import Result, ResultStatus
from pebble.pool import process
from pebble.pool.base_pool import PoolContext, Task, Worker
from pebble.pool.channel import WorkerChannel
from pebble.pool.process import (
    NoMessage,
    PoolManager,
    TaskManager,
    TaskResult,
    WorkerManager,
)

from conformance.executors.waiting import longest_wait, waiting_seconds

LOOK_SECONDS = 0.02
"""Seconds between two checks of the pool for ended workers."""

SetUp = Callable[[], BaseException | None]
"""set_up(): prepares a worker before its first call, and returns an exception or None."""


@dataclass(frozen=True, slots=True)
class Job:
    """A call without arguments; its worker may end after it."""

    function: Callable[[], Any]
    ends_worker: bool = False

    def __call__(self) -> Any:
        """Call the function without arguments, and return its value."""
        return self.function()


class CallTimeout(TimeoutError):
    """Raised by a call that took longer than its limit of `seconds`.

    Its worker waited for a processor for `waited` of these seconds.
    """

    def __init__(self, seconds: float, waited: float) -> None:
        """Create the exception from two numbers of seconds."""
        super().__init__(seconds, waited)
        self.seconds, self.waited = seconds, waited


def _work(set_up: SetUp, most: int, channel: WorkerChannel) -> None:
    """Make calls in this process until `most` are made, or a call crashes the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel.initialize()
    failure = set_up()
    try:
        for _ in range(most):
            task = process.fetch_task(channel)
            job: Any = task.payload.function
            function = job if failure is None else partial(_raise, failure)
            process.send_result(channel, TaskResult(task.id, process_execute(function)))
            if job.ends_worker:
                return
    except EOFError:  # the parent has closed the pipe
        pass
    except (OSError, RuntimeError) as error:
        process_exit(getattr(error, "errno", None) or 1)


def _raise(error: BaseException) -> None:
    raise error


class Workers(WorkerManager):
    """The workers of a pool. An ended worker is reported once all its messages are read."""

    is_reading = False
    """Whether a message has left the pipe, or is about to, and is not processed yet."""

    def __init__(
        self, jobs: int, max_calls: int, set_up: SetUp, context: ForkServerContext
    ) -> None:
        """Prepare `jobs` workers. A worker is replaced after `max_calls` calls."""
        super().__init__(jobs, Worker(max_calls, None, ()), context)
        self._max_calls, self._set_up, self._context = max_calls, set_up, context

    def new_worker(self) -> None:
        """Start a worker.

        Raises:
            BrokenProcessPool: if it cannot be started.
        """
        arguments = (self._set_up, self._max_calls, self.workers_channel)
        worker = self._context.Process(target=_work, name=process.WORKERS_NAME, args=arguments)
        try:
            worker.start()
        except (OSError, EOFError) as error:
            raise BrokenProcessPool from error
        assert worker.pid is not None
        self.workers[worker.pid] = worker

    def receive(self, timeout: float) -> Any:
        """Return the next message of a worker, or `NoMessage` after a timeout in seconds.

        Raises:
            BrokenProcessPool: if there is no pipe any more, because the pool was stopped.
        """
        try:
            if self.pool_channel is None or not self.pool_channel.poll(timeout):
                return NoMessage()
        except OSError as error:
            raise BrokenProcessPool from error
        self.is_reading = True  # before the message leaves the pipe: it is never out of sight
        return super().receive(0)

    def inspect_workers(self) -> tuple[tuple[int | None, int | None], ...]:
        """Return process ids and exit codes of workers that ended with an error."""
        ended = [worker for worker in tuple(self.workers.values()) if not worker.is_alive()]
        # in this order: see `receive`
        if not ended or self.pool_channel is None or self.pool_channel.poll(0) or self.is_reading:
            return ()
        for worker in ended:
            if worker.pid is not None:
                self.workers.pop(worker.pid, None)
        return tuple((worker.pid, worker.exitcode) for worker in ended if worker.exitcode != 0)


class Calls(TaskManager):
    """The calls of a pool, timed by a clock that is never set."""

    def __init__(self, done: Callable[[], None]) -> None:
        """Manage calls; `done` is called at the end of each."""
        super().__init__(done)
        self._waited_before: dict[int, dict[int, float]] = {}

    def task_start(self, task_id: int, worker_id: int | None) -> None:
        """Note when a call begins, and how long its worker had waited for a processor."""
        super().task_start(task_id, worker_id)
        task = self.tasks.get(task_id)
        if task is not None:
            task.timestamp = time.monotonic()
            if worker_id is not None:
                self._waited_before[task_id] = waiting_seconds(worker_id)

    def task_done(self, task_id: int, result: Result[Any]) -> None:
        """Set the result of a call."""
        self._waited_before.pop(task_id, None)
        super().task_done(task_id, result)

    @staticmethod
    def timeout(task: Task) -> bool:
        """Return whether a call takes longer than its limit."""
        if not (task.timeout and task.started):
            return False
        return time.monotonic() - task.timestamp > task.timeout

    def describe_timeout(self, task: Task) -> CallTimeout:
        """Return the exception of a call that takes longer than its limit."""
        before = self._waited_before.get(task.id, {})
        return CallTimeout(
            task.timeout or 0.0, longest_wait(before, waiting_seconds(task.worker_id))
        )


class Manager(PoolManager):
    """Processes the messages of workers, and their ends."""

    def __init__(self, pool: PoolContext, workers: Workers, context: ForkServerContext) -> None:
        """Create a manager of these workers for a pool."""
        super().__init__(pool, context)
        self.task_manager = self.calls = Calls(pool.task_queue.task_done)
        self.worker_manager = self.workers = workers

    def update_tasks(self) -> None:
        """End the workers of calls that take too long.

        This replaces pebble's loop. If it ran, too, calls whose time is over between the two would
        fail with pebble's exception. Calls are never cancelled here, which pebble also looks at.
        """
        for task in self.calls.timeout_tasks():
            error = self.calls.describe_timeout(task)  # before the worker is stopped
            if self.workers.maybe_stop_worker(task.worker_id):
                self.calls.task_done(task.id, Result(ResultStatus.FAILURE, error))

    def process_next_message(self, timeout: float) -> None:
        """Process the next message, if there is one within `LOOK_SECONDS`."""
        try:
            super().process_next_message(min(timeout, LOOK_SECONDS))
        finally:
            self.workers.is_reading = False

    def update_status(self) -> None:
        """Look for ended workers and for timeouts every `LOOK_SECONDS`, until the pool stops."""
        while self.context.alive and not process.GLOBAL_SHUTDOWN:
            super().update_status()
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        """End the workers, then close their pipes and delete their locks."""
        self.workers.force_stop_workers()
        self.workers.close_channels()


class Pool(ProcessPool):
    """A pool of worker processes; the docstring of this module says how it differs from pebble."""

    def __init__(
        self, jobs: int, max_calls: int, set_up: SetUp, context: ForkServerContext
    ) -> None:
        """Prepare `jobs` workers, which start with the first call."""
        super().__init__(jobs, max_calls, context=context)
        workers = Workers(jobs, max_calls, set_up, context)
        self._pool_manager = Manager(self._context, workers, context)

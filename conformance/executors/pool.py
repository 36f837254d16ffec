"""pebble's process pool, but what workers said is heard before it is seen that they ended.

A worker says what came of a call, and that it takes the next. pebble reads that in one thread, and
looks for workers that ended in another. Where the parent has other work, the end of a worker may be
seen first: then it counts as the end of the call before, and the call that ended the worker is
waited for until its time is over; or no call is known yet, and the whole pool counts as broken.
(pebble 5.2.3; met once in some thousand ends.)

And a worker can be ended after the call that it is in (`end_after_call`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import Any

from pebble import ProcessPool
from pebble.pool import process
from pebble.pool.base_pool import PoolContext
from pebble.pool.process import NoMessage, PoolManager, WorkerManager


def end_after_call() -> None:
    """Have this worker take no further call: it ends when the answer to its present one is sent.

    A worker that ends in this way is replaced, as after its last call.
    """
    process.fetch_task = _no_task


def _no_task(_: object) -> Any:
    raise EOFError  # what pebble's worker takes for the end of its work


class Workers(WorkerManager):
    """The workers of a pool; those that ended are told once nothing is left that they said."""

    reading = False
    """Whether a message has left the pipe, or is about to, and nothing has been done with it."""

    def receive(self, timeout: float) -> Any:
        """The next message of a worker, or that there was none within so many seconds.

        Raises:
            BrokenProcessPool: when there is no pipe any more, as when the pool is stopped.
        """
        try:
            if self.pool_channel is None or not self.pool_channel.poll(timeout):
                return NoMessage()
        except OSError as error:
            raise BrokenProcessPool from error
        self.reading = True  # before it leaves the pipe: there is no moment in which it is nowhere
        return super().receive(0)

    def inspect_workers(self) -> tuple[tuple[int | None, int | None], ...]:
        """Process ids and exit codes of workers that ended, but for those that ended well."""
        ended = [worker for worker in tuple(self.workers.values()) if not worker.is_alive()]
        # In this order: see `receive`.
        if not ended or self.pool_channel is None or self.pool_channel.poll(0) or self.reading:
            return ()
        for worker in ended:
            if worker.pid is not None:
                self.workers.pop(worker.pid, None)
        return tuple((worker.pid, worker.exitcode) for worker in ended if worker.exitcode != 0)


class Manager(PoolManager):
    """What a pool does with the messages of its workers, and with their ends."""

    def __init__(self, context: PoolContext, mp_context: BaseContext) -> None:
        """Manage the workers that are described by pebble's context."""
        super().__init__(context, mp_context)
        self.heard = Workers(context.workers, context.worker_parameters, mp_context)
        self.worker_manager = self.heard

    def process_next_message(self, timeout: float) -> None:
        """Wait so many seconds for a message, and do what is to be done with it."""
        try:
            super().process_next_message(timeout)
        finally:
            self.heard.reading = False


class Pool(ProcessPool):
    """A pool of processes; see the head of this file."""

    def __init__(
        self,
        max_workers: int,
        max_tasks: int,
        initializer: Callable[..., None],
        initargs: tuple[Any, ...],
        context: BaseContext,
    ) -> None:
        """Prepare workers as pebble does; they start with the first call."""
        super().__init__(max_workers, max_tasks, initializer, initargs, context)
        self._pool_manager = Manager(self._context, context)

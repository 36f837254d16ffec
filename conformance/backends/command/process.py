"""A compiler's process: it is started, asked, and ended with all that it has started."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, cast
from weakref import finalize

from conformance.backends.base import Failed
from conformance.backends.command.children import Child, new_child
from conformance.backends.command.protocol import Connection


class Process:
    """A process that speaks the protocol on its standard input and output.

    What it writes to standard error, this process does, too; the last line is part of the answer if
    it ends. It has a process group of its own, which ends when this process does, however it ends.
    """

    def __init__(self, backend: str, command: str) -> None:
        """Start a backend's command, whose words are split as a shell does, or let its fork server
        fork it.

        Raises:
            NotAvailable: when there is no such program, or it cannot be started.
        """
        child = new_child(backend, command)
        self._child = child
        self._said: deque[str] = deque(maxlen=1)
        Thread(target=_end_group_after, args=(child,), daemon=True).start()
        source, target, errors = (
            cast("IO[bytes]", one) for one in (child.stdout, child.stdin, child.stderr)
        )
        self._listener = Thread(target=_pass_on, args=(errors, self._said), daemon=True)
        self._listener.start()
        self.connection = Connection(source, target)
        streams = source, target
        self._end = finalize(self, end_process, child, streams, guard_group(child.pid))

    @property
    def pid(self) -> int:
        """The process id, which is also that of the process group."""
        return self._child.pid

    def end(self) -> None:
        """End the process and all of its group."""
        self._end()

    def lost(self) -> Failed:
        """Return the answer of a process that has ended or closed its output.

        In a worker the answer is that the worker ends in the same way, so that the program which
        does it is told from others of its module.
        """
        try:
            code = self._child.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self.end()
            return Failed("the process has closed its output, and still runs")
        self.end()
        self._listener.join(_PATIENCE)
        return _ended(code, self._said)


def run_once(command: str, *more: str) -> None:
    """Run a command with more words, and wait for its end.

    The time limit is the worker's: the process and all that it has started end with this process.

    Raises:
        Failed: when it cannot be started, or ends with another exit code than 0; with the last line
            of its standard error.
    """
    said: deque[str] = deque(maxlen=1)
    try:
        child = subprocess.Popen(
            [*shlex.split(command), *more],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        raise Failed(f"{command} cannot be started: {error.strerror}") from error
    guard = guard_group(child.pid)
    try:
        Thread(target=_end_group_after, args=(child,), daemon=True).start()
        _pass_on(cast("IO[bytes]", child.stderr), said)
        code = child.wait()
    finally:
        guard.kill()
        guard.wait()
        cast("IO[bytes]", guard.stdin).close()
    if code:
        raise _ended(code, said)


def _ended(code: int, said: Sequence[str]) -> Failed:
    """Return the answer of a process that has ended; a worker ends by the same signal."""
    if code < 0 and multiprocessing.parent_process() is not None:
        _end_by_signal(-code)
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return Failed(": ".join([f"the process ended {how}", *said]))


_LONGEST = 400
"""Characters of a line of standard error that an answer quotes."""

_PATIENCE = 2.0
"""Seconds that a process may take to end after it has closed its output."""


def _pass_on(errors: IO[bytes], said: deque[str]) -> None:
    """Write what a process writes to its standard error to this process's, and keep the last line
    that is not blank.
    """
    with errors:
        for line in errors:
            with suppress(OSError):
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, line)
            if text := line.decode("utf-8", "replace").strip():
                said.append(text[:_LONGEST])


def _end_group_after(child: Child) -> None:
    """Wait for a process, and end what it leaves behind, which may hold its output open."""
    child.wait()
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def end_process(
    child: Child, streams: tuple[IO[bytes], ...], guard: subprocess.Popen[bytes]
) -> None:
    """End a process and its group, and close what leads to it."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in streams:
        with suppress(OSError):
            stream.close()
    guard.kill()
    guard.wait()
    cast("IO[bytes]", guard.stdin).close()


def _end_by_signal(number: int) -> None:
    """End this process by a signal, without a core dump of its own."""
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    sys.stderr.flush()
    os.kill(os.getpid(), number)


_GUARD = 'read _; kill -s KILL -- "-$0"'
"""A shell's script that ends a process group once its standard input is closed."""


def guard_group(group: int) -> subprocess.Popen[bytes]:
    """Start a process that ends a process group once this process has ended, however it does."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def program_of(command: str) -> Path | None:
    """Return the file of a command's program, if it is given by its path."""
    first = Path(shlex.split(command)[0]).expanduser()
    return first if first.name != str(first) and first.is_file() else None

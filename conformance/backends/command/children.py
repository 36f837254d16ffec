"""Child processes of a command: started, or forked by the command's fork server."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Protocol

from conformance.errors import NotAvailable

LOST = 255
"""The exit code of a forked process whose fork server ends before it."""

_sockets: dict[str, Path] = {}


class Child(Protocol):
    """A process with a pipe for each standard stream, such as `subprocess.Popen` has."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal, when the process has ended.

        Raises:
            subprocess.TimeoutExpired: if it still runs after `timeout` seconds.
        """
        ...


def use_fork_server(backend: str, path: Path) -> None:
    """Let this process take children for a backend from the fork server at a socket, once there is
    one.
    """
    _sockets[backend] = path


def new_child(backend: str, command: str) -> Child:
    """Return a new process of a command, which leads a process group of its own.

    Raises:
        NotAvailable: when there is no such program, or it cannot be started.
    """
    path = _sockets.get(backend)
    if path is not None and path.exists():
        with suppress(OSError):  # it does not listen yet, or no longer
            return ForkedChild(path)
    words = shlex.split(command)
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        raise NotAvailable(f"{words[0]} cannot be started: {error.strerror}") from error


class ForkedChild:
    """A process that a fork server has forked for this one."""

    def __init__(self, path: Path) -> None:
        """Ask the fork server that listens at a socket.

        Raises:
            OSError: if none does, or it ends.
        """
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = (
            os.pipe() for _ in range(3)
        )
        self.stdin: IO[bytes] | None = os.fdopen(write_in, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(read_out, "rb")
        self.stderr: IO[bytes] | None = os.fdopen(read_err, "rb")
        theirs = read_in, write_out, write_err
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            socket.send_fds(connection, [b"\n"], theirs)
            self._told = connection.makefile("rb")
            self.pid = _number(self._told)
        except OSError:
            for stream in (self.stdin, self.stdout, self.stderr):
                stream.close()
            raise
        finally:
            connection.close()  # the file keeps it open
            for number in theirs:
                os.close(number)
        self._code: Future[int] = Future()
        Thread(target=self._await_code, daemon=True).start()

    def _await_code(self) -> None:
        code = LOST
        with suppress(OSError), self._told:
            code = _number(self._told)
        self._code.set_result(code)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code (see `Child`)."""
        try:
            return self._code.result(timeout)
        except NotDone:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0) from None


def _number(source: IO[bytes]) -> int:
    """Return the number in the next line.

    Raises:
        OSError: if the stream ends before.
    """
    line = source.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the fork server has ended")
    return int(line)

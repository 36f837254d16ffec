"""Fork servers: a command that is started once, and forks a process for each worker.

Otherwise a worker that crashes would cost a new start, in which all libraries are loaded again.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, cast
from weakref import finalize

from conformance.backends.command.process import end_process, guard_group


class ForkServer:
    """A command that listens at a socket, for workers that call `children.use_fork_server`."""

    def __init__(self, command: Callable[[], str]) -> None:
        """Choose the path of the socket. `command` returns the command when it is started."""
        self._command = command
        self._folder = tempfile.mkdtemp(prefix="hlo-conformance-")
        self.path = Path(self._folder) / "socket"
        self._end = finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._is_started = False

    def start(self) -> None:
        """Start the command, and ask it to listen; workers need not wait until it does."""
        if self._is_started:
            return
        self._is_started = True
        child = subprocess.Popen(
            shlex.split(self._command()),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self._end.detach()
        self._end = finalize(self, _end, child, guard_group(child.pid), self._folder)
        path, requests = str(self.path).encode(), cast("IO[bytes]", child.stdin)
        with suppress(BrokenPipeError):
            requests.write(b"listen %d\n%s" % (len(path), path))
            requests.flush()

    def end(self) -> None:
        """End the process, and remove the socket."""
        self._end()


def _end(child: subprocess.Popen[bytes], guard: subprocess.Popen[bytes], folder: str) -> None:
    end_process(child, (cast("IO[bytes]", child.stdin),), guard)
    shutil.rmtree(folder, ignore_errors=True)

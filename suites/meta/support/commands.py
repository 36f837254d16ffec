"""hlo-conformance as a program that starts at once, for tests of scripts and of pages.

To load the command line, and jaxlib in the server that its workers are forked from, takes longer
than most commands take. Here a command is forked off the server of this process's own workers,
which has both loaded, and so are the command's workers. The command is a process of its own, with
the folder, the environment and the streams of the program that passes it on (command_client.py).
"""

from __future__ import annotations

import ast
import multiprocessing.process
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from threading import Thread
from typing import Any

from suites.meta.support.preloading import start_server

CLIENT = Path(__file__).with_name("command_client.py")


@contextmanager
def command_server() -> Iterator[list[str]]:
    """Serve commands, and give the words by which a process calls hlo-conformance."""
    context = start_server()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        address = str(Path(folder) / "commands")
        listener.bind(address)
        listener.listen()
        Thread(target=_serve, args=(listener, context), daemon=True).start()
        yield [sys.executable, "-IS", str(CLIENT), address]
        listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, context: Any) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # shut down
            return
        Thread(target=_answer, args=(client, context), daemon=True).start()


def _answer(client: socket.socket, context: Any) -> None:
    with client:
        _, streams, _, _ = socket.recv_fds(client, 1, 3)
        with client.makefile("rb") as file:
            given = ast.literal_eval(file.read().decode("utf-8", "surrogateescape"))
        command = context.Process(target=_run, args=(*given, _Streams(streams)))
        command.start()
        for stream in streams:
            os.close(stream)
        command.join()
        client.sendall(str(command.exitcode).encode())


class _Streams:
    """Open files, which another process gets as the list of their numbers there."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def __reduce__(self) -> tuple[Any, ...]:
        return _detach_streams, ([DupFd(number) for number in self._numbers],)


def _detach_streams(streams: Sequence[Any]) -> list[int]:
    return [stream.detach() for stream in streams]


def _run(
    arguments: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]
) -> None:
    """Run a command in this process, which the server has just forked."""
    from conformance.cli import main

    for index, stream in enumerate(streams):
        os.dup2(stream, index)
        os.close(stream)
    os.chdir(folder)
    multiprocessing.process.ORIGINAL_DIR = folder  # where workers begin
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["hlo-conformance", *arguments]
    server: Any = forkserver._forkserver
    server.ensure_running = forkserver.ensure_running = lambda: None  # it has forked this process
    main()

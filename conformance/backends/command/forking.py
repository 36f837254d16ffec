"""The serving side of the request `listen`: a process is forked for each connection to a socket.

What the process has loaded by then, none of its children loads again. This module imports the
standard library alone, because it also runs in environments without this project.
"""

import gc
import os
import resource
import select
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

STREAMS = 3
"""Number of file descriptors that a connection sends: standard input, output and error."""


def listen(path: str, serve: Callable[[], None], ready: Callable[[], None]) -> None:
    """Fork a process that calls `serve` for each connection to a Unix socket, until standard input
    ends.

    The process must have a single thread. `ready` is called once the socket exists.
    """
    gc.freeze()  # so that collections in children copy no memory
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        ready()
        while True:
            readable, _, _ = select.select([listener, 0], [], [])
            if 0 in readable:
                return
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _run_session(connection, serve)
            _forget_ended_children()


def _run_session(connection: socket.socket, serve: Callable[[], None]) -> None:
    """Fork the process of a session, and write its process id and its exit code to the
    connection.
    """
    _, streams, _, _ = socket.recv_fds(connection, 1, STREAMS)
    child = os.fork()
    if child == 0:
        connection.close()
        _call(serve, streams)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):  # the child does it, too: whoever comes first
        os.setpgid(child, child)
    with suppress(OSError):
        connection.sendall(b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _call(serve: Callable[[], None], streams: list[int]) -> None:
    """Call a function in this process, with other standard streams, and end the process."""
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for index, stream in enumerate(streams):
            os.dup2(stream, index)
            os.close(stream)
        serve()
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)


def _forget_ended_children() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass

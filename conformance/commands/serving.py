"""The command `serve`: a backend of this machine answers requests on standard input and output."""

from __future__ import annotations

import os
import sys

from conformance.options import Backend


def serve(backend: Backend) -> None:
    """Let another process use a backend, by the protocol of `command:NAME=COMMAND`.

    `run --backend 'command:far=ssh host hlo-conformance serve --backend gpu'` tests the GPU of
    another machine. docs/backends.md describes the messages.
    """
    from importlib import import_module

    from conformance.backends.command.forking import listen
    from conformance.backends.command.protocol import Connection, ProtocolError
    from conformance.backends.command.serving import Server
    from conformance.backends.registry import BACKENDS, parse
    from conformance.backends.session import open_session
    from conformance.errors import UsageError

    modules = BACKENDS[parse(backend).family].preload

    def answer_requests() -> None:
        # what libraries print must not come between messages
        answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        connection = Connection(sys.stdin.buffer, answers)

        def fork(path: str) -> None:
            for module in modules:
                import_module(module)
            listen(path, answer_requests, lambda: connection.send("ok"))

        Server(lambda: open_session(backend), connection, fork).serve()

    try:
        answer_requests()
    except ProtocolError as error:
        raise UsageError(f"serve: {error}") from error
    except BrokenPipeError:
        return

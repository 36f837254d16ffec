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
    from conformance.backends.command.protocol import Connection, ProtocolError
    from conformance.backends.command.serving import Server
    from conformance.backends.session import open_session
    from conformance.errors import UsageError

    # what libraries print must not come between messages
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        Server(open_session(backend), Connection(sys.stdin.buffer, answers)).serve()
    except ProtocolError as error:
        raise UsageError(f"serve: {error}") from error
    except BrokenPipeError:
        return

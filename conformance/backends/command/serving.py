"""The other side of the protocol: any backend of ours answers requests on standard streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from conformance.backends.base import BackendError, HasOptimisedModule, Unsupported
from conformance.backends.command.protocol import (
    ANSWERS,
    VERSION,
    Connection,
    ProtocolError,
    number,
    quote,
)
from conformance.backends.compiled.stages import dump_folder, dumped_stages
from conformance.backends.session import Compiled, Session
from conformance.backends.xla_messages import verifier_error
from conformance.stablehlo.parse import ParseError, parse_module
from reference.ir.program import Program
from reference.ir.types import Array

MOST = 1 << 40
"""Largest length of a program or array in bytes."""


class _Served(NamedTuple):
    """A compiled program, with what it was compiled from."""

    compiled: Compiled
    program: Program
    text: str


@dataclass
class Server:
    """A session that answers the requests of a connection, one after the other.

    `fork` takes the path of a socket, and answers the connections to it by forked processes.
    """

    open: Callable[[], Session]
    connection: Connection
    fork: Callable[[str], None] | None = None
    programs: dict[int, _Served] = field(default_factory=dict[int, "_Served"])

    @cached_property
    def session(self) -> Session:
        """The session, opened by the first request that needs it."""
        return self.open()

    def serve(self) -> None:
        """Answer requests until the stream ends.

        Raises:
            ProtocolError: for a request that the protocol does not have.
        """
        requests = {
            "describe": (self._describe, 1, "a version"),
            "compile": (self._compile, 2, "a number and a length"),
            "execute": (self._execute, 3, "a program, processes and a number of arrays"),
            "module": (self._module, 1, "the number of a program"),
            "stages": (self._stages, 1, "the number of a program"),
            "free": (self._free, 1, "the number of a program"),
            "listen": (self._listen, 1, "the length of a path"),
        }
        with suppress(EOFError):
            while True:
                words = self.connection.line()
                if words[0] not in requests:
                    raise ProtocolError(f"{quote(words)} is no request")
                answer, count, meaning = requests[words[0]]
                if len(words) != 1 + count:
                    raise ProtocolError(f"{quote(words)}: {words[0]} has {meaning}")
                try:
                    answer(words[1:])
                except BackendError as error:
                    self.connection.send_text(_word_of(error), text=str(error))

    def _describe(self, _: Sequence[str]) -> None:
        described = self.session.describe()
        lines = [
            f"protocol {VERSION}",
            f"hardware {self.session.hardware.value}",
            f"platform {described.platform}",
            f"device {described.device}",
            *(f"version {name.replace(' ', '-')} {said}" for name, said in described.versions),
        ]
        lines += ["forks yes"] if self.fork is not None else []
        self.connection.send_text("ok", text="\n".join(lines))

    def _compile(self, words: Sequence[str]) -> None:
        key, length = words
        text = self.connection.block(number(length, MOST)).decode("utf-8", "replace")
        try:
            program = parse_module(text)
        except ParseError as error:
            raise verifier_error(str(error)) from error
        refusal = self.session.refusal(program)
        if refusal is not None:
            raise refusal
        compiled = self.session.compile(program, text)
        self.programs[number(key, MOST)] = _Served(compiled, program, text)
        self.connection.send("ok")

    def _execute(self, words: Sequence[str]) -> None:
        key, processes, count = (number(word, MOST) for word in words)
        arrays = [self.connection.array(lambda _: True) for _ in range(count)]
        served = self.programs.get(key)
        if served is None or served.compiled.processes != processes:
            raise ProtocolError(f"there is no program {key} of {processes} processes")
        results: Sequence[Array] = served.compiled.run(arrays)
        self.connection.send_arrays("ok", arrays=results)

    def _module(self, words: Sequence[str]) -> None:
        served = self.programs.get(number(words[0], MOST))
        executable = None if served is None else served.compiled.executable
        if not isinstance(executable, HasOptimisedModule) or not (
            module := executable.optimised_module()
        ):
            raise Unsupported("there is no optimised module")
        self.connection.send("ok", len(module), blocks=[module])

    def _stages(self, words: Sequence[str]) -> None:
        served = self.programs.get(number(words[0], MOST))
        if served is None:
            raise Unsupported("there is no such program")
        with dump_folder() as folder:
            if not dumped_stages(self.session, served.program, folder, served.text):
                raise Unsupported("there are no stages")
            found = {path.name: path.read_bytes() for path in sorted(folder.glob("*.hlo.pb"))}
        blocks: list[bytes] = []
        for name, module in found.items():
            blocks += [f"{name} {len(module)}\n".encode(), module]
        self.connection.send("ok", len(found), blocks=blocks)

    def _free(self, words: Sequence[str]) -> None:
        self.programs.pop(number(words[0], MOST), None)
        self.connection.send("ok")

    def _listen(self, words: Sequence[str]) -> None:
        path = self.connection.text(words[0])
        if self.fork is None or "session" in vars(self):
            raise Unsupported("this process has threads, which a forked one would not have")
        self.fork(path)


def _word_of(error: BackendError) -> str:
    """Return the protocol's word for an answer that is not a result."""
    return next((word for word, kind in ANSWERS.items() if isinstance(error, kind)), "failed")

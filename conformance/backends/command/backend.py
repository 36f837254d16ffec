"""A compiler behind a command as a backend: `command:NAME=PROGRAM ARGUMENTS`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import TypeVar

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Failed,
    Settings,
    Unsupported,
    has_static_arrays,
)
from conformance.backends.command.process import Process, program_of
from conformance.backends.command.protocol import (
    ANSWERS,
    VERSION,
    Connection,
    ProtocolError,
    number,
    portable_artifact,
    quote,
)
from conformance.backends.verification import verify
from conformance.backends.versions import described_file
from conformance.backends.xla_messages import refused_by_verifier, verifier_error
from conformance.errors import NotAvailable
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program, TensorType
from reference.ir.types import Array

ROOM = 1 << 20
"""Bytes that a result may have beyond sixteen times the size of all results of the program."""

_Answer = TypeVar("_Answer")


class CommandBackend:
    """The backend that asks a process. The process is started again after it has ended."""

    def __init__(self, name: str, command: str) -> None:
        """Start the process, and ask it for its description.

        Raises:
            NotAvailable: when it cannot be started, or does not answer by the protocol.
        """
        self.name = name
        self._command = command
        self._process: Process | None = None
        self._numbers = count(1)
        self.unused: deque[tuple[Process | None, int]] = deque()
        try:
            stated = self.ask(_describe)
        except BackendError as error:
            raise NotAvailable(f"{name}: {command}: {error}") from error
        self._stated = stated
        hardware = next((text for key, text in stated if key == "hardware"), "cpu")
        if hardware not in tuple(Hardware):
            known = ", ".join(Hardware)
            raise NotAvailable(f"{name}: 'hardware' is one of {known}, not {hardware!r}")
        self.hardware = Hardware(hardware)
        self.batches = ("batches", "no") not in stated
        form, _, version = dict(stated).get("program", "text").partition(" ")
        if form not in ("text", "portable") or (form == "portable" and not version):
            raise NotAvailable(f"{name}: 'program' is text or portable VERSION, not {form!r}")
        self._portable = version

    def describe(self) -> Description:
        """Return what the process says of itself, and the digest of its program."""
        known = dict(self._stated)
        versions = [
            (name, version)
            for key, text in self._stated
            if key == "version"
            for name, _, version in [text.partition(" ")]
        ]
        program = program_of(self._command)
        if program is not None:
            versions.append(("program", described_file(program)))
        platform, device = known.get("platform", "command"), known.get("device", "?")
        forks = ("forks", "yes") in self._stated
        return Description(self.name, platform, device, tuple(versions), forks)

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: the protocol has no settings."""
        del settings
        raise Unsupported(f"the backend {self.name} takes no compiler options")

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs whose arguments or results are no tensors."""
        if has_static_arrays(program):
            return None
        return Unsupported("the protocol has arrays of static sizes only")

    def compile(self, text: str, program: Program) -> CommandExecutable:
        """Send a module (see `conformance.backends.base.Backend`)."""
        verify(text, program, self.refusal)
        key, module = next(self._numbers), text.encode()
        if self._portable:
            try:
                module = portable_artifact(text, self._portable)
            except Unsupported:
                invalid = refused_by_verifier(text)  # there are no artifacts of invalid modules
                if invalid is None:
                    raise
                raise verifier_error(invalid) from None

        def send(connection: Connection) -> None:
            connection.send("compile", key, len(module), blocks=[module])
            _expect(connection, "ok")

        self.ask(send)
        sizes = [
            prod(one.static_shape) * one.stored.storage.itemsize
            for one in program.main.result_types
            if isinstance(one, TensorType)
        ]
        most = 16 * sum(sizes) + ROOM
        return CommandExecutable(self, self._process, key, lambda length: length <= most)

    def ask(self, exchange: Callable[[Connection], _Answer]) -> _Answer:
        """Return what a function exchanges with the process.

        Raises:
            BackendError: the answer of the process, if it is an error. It is ended where its answer
                is none of the protocol, because nothing that follows could be read.
        """
        if self._process is None:
            self._process = Process(self.name, self._command)
        process = self._process
        try:
            while self.unused:
                owner, key = self.unused.popleft()
                if owner is process:
                    _free(process.connection, key)
            return exchange(process.connection)
        except ProtocolError as error:
            self._process = None
            process.end()
            raise Failed(f"an answer is not as the protocol says: {error}") from error
        except (BrokenPipeError, EOFError) as error:
            self._process = None
            raise process.lost() from error

    def is_current(self, process: Process | None) -> bool:
        """Return whether a process is the one that is asked now."""
        return process is self._process


class CommandExecutable:
    """A program that the process has compiled under a number."""

    def __init__(
        self,
        backend: CommandBackend,
        process: Process | None,
        key: int,
        permits: Callable[[int], bool],
    ) -> None:
        """Remember the number; `permits` tells whether a result may have so many bytes."""
        self._backend, self._process, self._key, self._permits = backend, process, key, permits

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            BackendError: the answer of the process, if it is an error.
        """
        arrays = [array for each in inputs for array in each]

        def send(connection: Connection) -> list[Array]:
            connection.send_arrays("execute", self._key, len(inputs), arrays=arrays)
            (word,) = _expect(connection, "ok", 1)
            return [connection.array(self._permits) for _ in range(number(word, _MOST_RESULTS))]

        if not self._backend.is_current(self._process):
            raise Failed("the process that compiled the program has ended")
        results = self._backend.ask(send)
        share, rest = divmod(len(results), len(inputs))
        if rest:
            raise Failed(f"{len(results)} results cannot be of {len(inputs)} processes")
        return [results[n * share : (n + 1) * share] for n in range(len(inputs))]

    def optimised_module(self) -> bytes:
        """Return the module that the compiler has generated code from, as a serialised
        HloModuleProto; b"" if the process has none.
        """

        def send(connection: Connection) -> bytes:
            connection.send("module", self._key)
            (word,) = _expect(connection, "ok", 1)
            return connection.block(number(word, _MOST_BYTES))

        try:
            return self._backend.ask(send) if self._backend.is_current(self._process) else b""
        except BackendError:
            return b""

    def stages(self) -> dict[str, bytes]:
        """Return the modules between the compiler's passes (see `base.HasStages`); none if the
        process has none.
        """

        def send(connection: Connection) -> dict[str, bytes]:
            connection.send("stages", self._key)
            (count,) = _expect(connection, "ok", 1)
            return dict(_module(connection) for _ in range(number(count, _MOST_RESULTS)))

        try:
            return self._backend.ask(send) if self._backend.is_current(self._process) else {}
        except BackendError:
            return {}

    def __del__(self) -> None:
        """Let the process free the program before its next request."""
        self._backend.unused.append((self._process, self._key))


_MOST_RESULTS = 1 << 16
_MOST_BYTES = 1 << 28


def _describe(connection: Connection) -> list[tuple[str, str]]:
    """Return the keys and texts by which a process describes itself."""
    connection.send("describe", VERSION)
    (word,) = _expect(connection, "ok", 1)
    lines = connection.text(word).splitlines()
    found = [(key, text) for key, _, text in (line.partition(" ") for line in lines)]
    spoken = dict(found).get("protocol", "")
    if spoken != str(VERSION):
        raise ProtocolError(f"the process speaks version {spoken or '?'}, and {VERSION} is needed")
    return found


def _module(connection: Connection) -> tuple[str, bytes]:
    """Return the name of a module that follows, and the module."""
    words = connection.line()
    if len(words) != 2:
        raise ProtocolError(f"{quote(words)} is not the name of a module and its length")
    return words[0], connection.block(number(words[1], _MOST_BYTES))


def _free(connection: Connection, key: int) -> None:
    connection.send("free", key)
    _expect(connection, "ok")


def _expect(connection: Connection, word: str, more: int = 0) -> list[str]:
    """Return the words after the first one of an answer, which must be `word`.

    Raises:
        BackendError: if the answer is another one of the protocol.
        EOFError: if the stream has ended.
        ProtocolError: if it is none.
    """
    words = connection.line()
    if words[0] in ANSWERS and len(words) == 2:
        raise ANSWERS[words[0]](connection.text(words[1]).strip() or words[0])
    if words[0] != word or len(words) != 1 + more:
        raise ProtocolError(f"{quote(words)} is no answer")
    return words[1:]

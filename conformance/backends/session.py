"""Sessions: every part of the harness compiles and runs programs through a session.

A backend is opened once per process. Whatever it raises becomes its answer here, and nowhere else:
Unsupported, Rejected or Failed.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from conformance.backends.base import (
    DEVICE_ERROR_EXIT,
    Backend,
    BackendError,
    Description,
    DeviceError,
    Executable,
    Failed,
    HasLoweredProgram,
    HasOptimisedModule,
    HasStages,
    Settings,
    Unsupported,
)
from conformance.backends.registry import (
    Choice,
    is_separated,
    only_compiles,
    open_backend,
    parse,
)
from conformance.stablehlo.emit import EmitError, emit
from conformance.tolerance.hardware import Hardware
from conformance.transforms.merge import merge, merge_arguments, merge_kind, split_results
from reference.ir.program import Program
from reference.ir.types import Array

EMISSION, COMPILATION, EXECUTION = "emission", "compilation", "execution"
"""The steps of a session."""

Around = Callable[[str], AbstractContextManager[None]]
"""A function from a step to a context manager that surrounds it, such as a timer."""

KEPT = 32
"""Number of compiled programs that a session caches; searches run the same programs on other
inputs.
"""

_opened: dict[str, tuple[Choice, Backend]] = {}


def cached_backend(name: str) -> Backend:
    """Return the backend with this name, opened at the first call in this process.

    A plugin opened as `plugin:NAME=PATH` is available as `plugin:NAME` afterwards, its name in
    records.

    Raises:
        UsageError: if there is no such backend.
        NotAvailable: if it is not available on this machine; the message says how to mend it.
    """
    if name in _opened:
        return _opened[name][1]
    choice = parse(name)
    before = _opened.get(choice.name)
    if before is None or before[0] != choice:
        _opened[choice.name] = (choice, open_backend(choice))
    return _opened[choice.name][1]


def open_session(name: str, around: Around | None = None) -> Session:
    """Return a session of the backend with this name.

    Raises:
        UsageError: if there is no such backend.
        NotAvailable: if it is not available on this machine; the message says how to mend it.
    """
    return Session(cached_backend(name), around)


class Session:
    """A backend that compiles and runs programs.

    `compilations` counts the programs that it was given to compile.
    """

    def __init__(self, backend: Backend, around: Around | None = None) -> None:
        """Drive an open backend; `around` returns a context manager for each step."""
        self._backend = backend
        self._around: Around = around or (lambda _: nullcontext())
        self._compiled: dict[str, Compiled] = {}
        self.compilations = 0

    @property
    def name(self) -> str:
        """The backend's name in records."""
        return self._backend.name

    @property
    def hardware(self) -> Hardware:
        """The kind of hardware whose tolerances apply."""
        return self._backend.hardware

    def configured(self, settings: Settings) -> Session:
        """Return a session of the same backend with other compiler settings.

        Raises:
            Unsupported: if it has no compiler with settings.
        """
        return Session(self._backend.configured(settings), self._around)

    def describe(self) -> Description:
        """Return name, platform, device and versions of the backend."""
        return self._backend.describe()

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error that compiling would raise, if it can be known without compiling."""
        return self._backend.refusal(program)

    def compile(self, program: Program, text: str = "") -> Compiled:
        """Compile a program; `text` is its source text, if there is one.

        Raises:
            EmitError: if the program cannot be written as text; the backend is not called then.
            BackendError: the backend's answer, if it is an error.
        """
        if not text:
            with self._around(EMISSION):
                text = emit(program)
        self.compilations += 1
        with self._around(COMPILATION), _convert_errors():
            executable = self._backend.compile(text, program)
            return Compiled(executable, program.process_count, self._around)

    def compile_in_isolation(self, program: Program, text: str = "") -> Compiled:
        """Compile a program that shares its module with no other, as `compile` does.

        A backend that only compiles does not recompile a program in the small cache.
        """
        compile_module = self.compile_cached if only_compiles(self.name) else self.compile
        return compile_module(program, text)

    def batch_kind(self, program: Program) -> Hashable:
        """Return the traits that programs must share to be compiled as a batch.

        A program that the backend separates shares them with no other, nor does any program of a
        backend without batches.
        """
        is_alone = is_separated(self.name, program) or not getattr(self._backend, "batches", True)
        return object() if is_alone else merge_kind(program)

    def run_batch(
        self, programs: Sequence[Program], sets: Sequence[Sequence[Sequence[Array]]]
    ) -> list[list[list[Array]]]:
        """Compile programs of one kind (`batch_kind`) as one module and run it on all input sets.

        Execution k takes input set k of each program, or the last of a program that has fewer.

        Returns:
            The results of each program on each of its input sets.

        Raises:
            EmitError: if a program cannot be written as text; the backend is not called then.
            BackendError: the backend's answer, if it is an error; Failed also if the number of
                results is wrong.
        """
        with self._around(EMISSION):
            whole = merge(programs)
            text = emit(whole)
        compile_module = self.compile_in_isolation if len(programs) == 1 else self.compile
        compiled = compile_module(whole, text)
        found: list[list[list[Array]]] = [[] for _ in programs]
        for turn in range(max(map(len, sets))):
            results = compiled.run(merge_arguments(programs, sets, turn))
            try:
                each = split_results(programs, results)
            except ValueError as error:
                raise Failed(str(error)) from None
            for own, given, result in zip(found, sets, each, strict=True):
                own += [result] if turn < len(given) else []
        return found

    def run(
        self, program: Program, sets: Sequence[Sequence[Array]], text: str = ""
    ) -> Iterator[list[Array]]:
        """Yield the results of a program, compiled by `compile_cached`, on each set of inputs.

        Raises:
            BackendError: the backend's answer, if it is an error.
        """
        compiled = self.compile_cached(program, text)
        for inputs in sets:
            yield compiled.run(inputs)

    def compile_cached(self, program: Program, text: str = "") -> Compiled:
        """Return a compiled program from a small cache. A program that is sure to be refused is not
        tried.

        Raises:
            BackendError: the backend's answer, if it is an error; Unsupported also for a program
                that cannot be written as text.
        """
        refusal = self.refusal(program)
        if refusal is not None:
            raise refusal
        try:
            text = text or emit(program)
        except EmitError as error:
            raise Unsupported(str(error)) from None
        if text not in self._compiled:
            while len(self._compiled) >= KEPT:
                del self._compiled[next(iter(self._compiled))]
            self._compiled[text] = self.compile(program, text)
        return self._compiled[text]

    def optimised_module(self, program: Program, text: str = "") -> bytes:
        """Return the optimised HLO module of a program in the small cache, as a serialised proto.

        b"" if the program is not in the cache, or the backend gives no modules.
        """
        executable = self._cached_executable(program, text)
        return executable.optimised_module() if isinstance(executable, HasOptimisedModule) else b""

    def stages(self, program: Program, text: str = "") -> Mapping[str, bytes]:
        """Return what the executable of a program in the small cache says of its compiler's passes
        (see `conformance.backends.base.HasStages`); empty if it says nothing.
        """
        executable = self._cached_executable(program, text)
        return executable.stages() if isinstance(executable, HasStages) else {}

    def lowered_program(self, program: Program, text: str = "") -> Program | None:
        """Return the program that the backend runs in place of a program in the small cache.

        None if the program is not in the cache, or the backend does not tell.
        """
        executable = self._cached_executable(program, text)
        return executable.lowered_program() if isinstance(executable, HasLoweredProgram) else None

    def _cached_executable(self, program: Program, text: str) -> Executable | None:
        try:
            compiled = self._compiled.get(text or emit(program))
        except EmitError:
            return None
        return None if compiled is None else compiled.executable


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program that a session has compiled, for a number of processes."""

    executable: Executable
    processes: int
    around: Around

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Return the results of main on these arguments, process after process.

        Raises:
            BackendError: the backend's answer, if it is an error.
        """
        each = len(inputs) // self.processes
        shares = [inputs[n * each : (n + 1) * each] for n in range(self.processes)]
        with self.around(EXECUTION), _convert_errors():
            return [array for share in self.executable.execute(shares) for array in share]


@contextmanager
def _convert_errors() -> Generator[None]:
    """Convert exceptions of a backend to answers, so that they do not count as errors of the
    harness. A worker process whose device is unusable ends, because it would fail all its calls.
    """
    try:
        yield
    except DeviceError as error:
        if multiprocessing.parent_process() is not None:
            os.write(2, f"fatal: {error}\n".encode())
            os._exit(DEVICE_ERROR_EXIT)
        raise
    except BackendError:
        raise
    except MemoryError as error:
        raise Failed("out of memory") from error
    except Exception as error:
        raise Failed(f"{type(error).__name__}: {error}") from error

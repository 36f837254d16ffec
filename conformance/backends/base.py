"""The interface between the harness and a backend: compile a module, run it, report errors.

`conformance.backends.session` is the only caller of these classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.ir.program import Program, TensorType, ValueType
from reference.ir.types import Array


class BackendError(Exception):
    """A backend's answer that is not a result. A subclass for each kind of answer."""


class Unsupported(BackendError):
    """The backend does not implement this program (UNIMPLEMENTED, cannot translate, ...)."""


class NotReadBack(Unsupported):
    """The compiler accepted the program, and its optimised module cannot be read or evaluated.

    The message begins with the construct that cannot be read, and a colon.
    """


NOT_READ_BACK = "not read back"
"""The class of programs that were compiled, and whose values are not available."""


class Rejected(BackendError):
    """The backend's verifier refuses the program as invalid."""


class Failed(BackendError):
    """The backend reports an error of its own: an internal error, or an error at run time."""


class DeviceError(Failed):
    """An error of a device after which its driver refuses all further work of the process."""


DEVICE_ERROR_EXIT = 86
"""The exit code of a worker whose process cannot use its device any more."""

ANSWERED = {
    "out of memory": re.compile(r"RESOURCE_EXHAUSTED|(?i:out of memory)"),
    "internal error": re.compile(""),
}
"""Classes of errors that a backend itself reports, by words of the message; the first match counts.

The backend's process continues after such an error. Any other `crashed` program has ended its
process.
"""


def failure_of(error: BackendError) -> tuple[Verdict, str]:
    """Return verdict and class of a valid program for which a backend gave no results."""
    if isinstance(error, NotReadBack):
        return Verdict.NOT_JUDGED, NOT_READ_BACK
    if isinstance(error, Unsupported):
        return Verdict.UNSUPPORTED, ""
    if isinstance(error, Rejected):
        return Verdict.REJECTED, "refused as invalid"
    said = str(error)
    return Verdict.CRASHED, next(kind for kind, words in ANSWERED.items() if words.search(said))


def ends_process(verdict: Verdict, kind: str) -> bool:
    """Return whether, by verdict and class, the program crashed its process or timed out.

    A backend that reports a timeout itself does not count.
    """
    return verdict in (Verdict.CRASHED, Verdict.TIMED_OUT) and kind not in ANSWERED


@dataclass(frozen=True, slots=True)
class Settings:
    """Compiler settings that differ from the defaults.

    `without` are passes to disable, by the compiler's names. `unoptimized` disables optimisation of
    the generated code. `dump` is a folder for the program after each pass that changes it, as text
    or, with `dump_as_protos`, as serialised protos.
    """

    without: tuple[str, ...] = ()
    unoptimized: bool = False
    dump: str = ""
    dump_as_protos: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """Name, platform, device kind and versions of a backend, as shown to people.

    `forks` says that the backend's process forks further processes when it is asked to.
    """

    name: str
    platform: str
    device: str
    versions: tuple[tuple[str, str], ...]
    forks: bool = False


class Executable(Protocol):
    """A compiled module, ready to run."""

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main in every process of the program at once.

        Args:
            inputs: the arguments of main for each process; most programs have one process.

        Returns:
            The results of each process, in order, in the storage types.

        Raises:
            BackendError: if the backend answers with an error.
        """
        ...


@runtime_checkable
class HasOptimisedModule(Protocol):
    """An executable that gives the HLO module that its compiler has generated code from."""

    def optimised_module(self) -> bytes:
        """Return the optimised module as a serialised HloModuleProto; b"" if there is none."""
        ...


@runtime_checkable
class HasStages(Protocol):
    """An executable that gives the modules between the passes of its compiler."""

    def stages(self) -> Mapping[str, bytes]:
        """Return the modules as serialised HloProtos, by the names of the files that XLA dumps."""
        ...


@runtime_checkable
class HasLoweredProgram(Protocol):
    """An executable that runs another program than the one it was given."""

    def lowered_program(self) -> Program | None:
        """Return the program that is run, with the same arguments and results; None if it is the
        given one."""
        ...


class Backend(Protocol):
    """An open backend: it compiles and runs StableHLO programs on this machine.

    `name` is its name in records, `hardware` selects the tolerances that apply to it. A backend may
    have `batches = False`: then each module has a single program.
    """

    name: str
    hardware: Hardware

    def describe(self) -> Description:
        """Return name, platform, device and versions."""
        ...

    def configured(self, settings: Settings) -> Backend:
        """Return the same backend with other compiler settings; the original is unchanged.

        Raises:
            Unsupported: if the backend has no compiler with settings.
        """
        ...

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error that `compile` would raise, if it can be known without compiling."""
        ...

    def compile(self, text: str, program: Program) -> Executable:
        """Compile a module, given as text and as the program that the text was made from.

        Raises:
            Unsupported: if the backend does not implement the program.
            Rejected: if the backend considers the program invalid.
            Failed: if the backend fails.
        """
        ...


def outer_types(program: Program) -> tuple[ValueType, ...]:
    """Return the types of the arguments and results of main."""
    return (*(argument.type for argument in program.main.arguments), *program.main.result_types)


def has_static_arrays(program: Program) -> bool:
    """Return whether the arguments and results of main are tensors of static sizes."""
    types = outer_types(program)
    return all(isinstance(one, TensorType) and one.is_static for one in types)


def single_process_inputs(inputs: Sequence[Sequence[Array]]) -> Sequence[Array]:
    """Return the arguments of the single process of a program.

    Raises:
        ValueError: if there are arguments for another number of processes.
    """
    if len(inputs) != 1:
        raise ValueError(f"the program is compiled for 1 process, not for {len(inputs)}")
    return inputs[0]

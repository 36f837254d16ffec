"""The seam between the harness and what it tests: compile a module, run it, say how it went.

What is below the seam, one class per backend, is driven by `conformance.backends.session` alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.ir.program import Program
from reference.ir.types import Array


class BackendError(Exception):
    """A backend's own answer that is not a result. Subclasses tell the three kinds apart."""


class Unsupported(BackendError):
    """The backend does not implement this program (UNIMPLEMENTED, cannot translate, ...)."""


class NotReadBack(Unsupported):
    """The compiler took the program, and its optimised module cannot be read or evaluated.

    The message begins with the construct that stands in the way, and a colon.
    """


NOT_READ_BACK = "not read back"
"""The class of unsupported programs that were compiled, and whose values are not available."""


class Rejected(BackendError):
    """The backend's verifier refuses the program as invalid."""


class Failed(BackendError):
    """The backend broke in an orderly way: an internal error, a runtime error."""


ANSWERED = {
    "out of memory": re.compile(r"RESOURCE_EXHAUSTED|(?i:out of memory)"),
    "internal error": re.compile(""),
}
"""The classes of what a backend that broke answers, by its words: the first that is right.

Its process goes on, as it does not where the verdict is `crashed` and the class another.
"""


def kind_of_unsupported(error: Unsupported) -> str:
    """Return the class of a program that is unsupported: "" for one that was not even compiled."""
    return NOT_READ_BACK if isinstance(error, NotReadBack) else ""


def failure_of(error: BackendError) -> tuple[Verdict, str]:
    """The verdict and the class of a valid program that was refused, or that broke the backend."""
    if isinstance(error, Rejected):
        return Verdict.REJECTED, "refused as invalid"
    said = str(error)
    return Verdict.CRASHED, next(kind for kind, words in ANSWERED.items() if words.search(said))


def loses_process(verdict: Verdict, kind: str) -> bool:
    """Whether a verdict of that class is on a program that ended its process, or never ended,
    and not on one of which the backend said so itself."""
    return verdict in (Verdict.CRASHED, Verdict.TIMED_OUT) and kind not in ANSWERED


@dataclass(frozen=True, slots=True)
class Settings:
    """How a compiler is to work otherwise than it does by itself.

    `without` are passes that it leaves out, by the names it gives them; `unoptimized` has it
    generate code as it comes; `dump` is a folder for the program after each pass that changes it,
    as text or, with `dump_as_protos`, as serialised protos.
    """

    without: tuple[str, ...] = ()
    unoptimized: bool = False
    dump: str = ""
    dump_as_protos: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """What a backend is: name, platform, device kind and versions, as shown to people."""

    name: str
    platform: str
    device: str
    versions: tuple[tuple[str, str], ...]


class Executable(Protocol):
    """A compiled module."""

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main in every process of the program at once.

        `inputs` has the arguments of main for each process, most often of a single one; what comes
        back are the results for each process, in order, of the storage types.

        Raises:
            BackendError: when the backend answers with an error.
        """
        ...


class Backend(Protocol):
    """Something that compiles and runs StableHLO programs, found on this machine and open.

    `name` is what records call it, `hardware` says which tolerance figures apply to it.
    """

    name: str
    hardware: Hardware

    def describe(self) -> Description:
        """What this backend is."""
        ...

    def configured(self, settings: Settings) -> Backend:
        """This backend with its compiler set to work so, which leaves this one as it is.

        Raises:
            Unsupported: when it has no compiler that could be told.
        """
        ...

    def refusal(self, program: Program) -> BackendError | None:
        """The error that `compile` is sure to answer, where that can be told without compiling."""
        ...

    def compile(self, text: str, program: Program) -> Executable:
        """Compile a module given as text, and as the program that the text was made from.

        Raises:
            Unsupported: when it does not implement the program.
            Rejected: when it holds the program for invalid.
            Failed: when it breaks.
        """
        ...


def only(inputs: Sequence[Sequence[Array]]) -> Sequence[Array]:
    """The arguments of the single process of a program that was compiled for one.

    Raises:
        ValueError: when there are arguments for another number of processes.
    """
    if len(inputs) != 1:
        raise ValueError(f"the program is compiled for 1 process, not for {len(inputs)}")
    return inputs[0]

"""The seam between the harness and what it tests: compile a module, run it, say how it went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reference.ir.program import Program
from reference.ir.types import Array


class BackendError(Exception):
    """A backend's own answer that is not a result. Subclasses tell the three kinds apart."""


class Unsupported(BackendError):
    """The backend does not implement this program (UNIMPLEMENTED, cannot translate, ...)."""


class Rejected(BackendError):
    """The backend's verifier refuses the program as invalid."""


class Failed(BackendError):
    """The backend broke in an orderly way: an internal error, a runtime error."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a backend is: name, platform, device kind and versions, as shown to people."""

    name: str
    platform: str
    device: str
    versions: tuple[tuple[str, str], ...]


class Executable(Protocol):
    """A compiled module."""

    def execute(self, inputs: Sequence[Array]) -> list[Array]:
        """Run main on these arguments; the results in order, of the storage types.

        Raises:
            BackendError: when the backend answers with an error.
        """
        ...


class Backend(Protocol):
    """Something that compiles and runs StableHLO programs."""

    name: str

    def describe(self) -> Description:
        """What this backend is."""
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

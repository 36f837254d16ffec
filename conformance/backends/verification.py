"""Verification of a program before any of XLA's compilers sees it."""

from __future__ import annotations

from collections.abc import Callable

from conformance.backends.base import BackendError, Rejected, Unsupported
from conformance.backends.interpreter.limits import verifier_refusal_of
from conformance.backends.xla_messages import refused_by_verifier
from reference.ir.program import Program


def verify(text: str, program: Program, refusal: Callable[[Program], BackendError | None]) -> None:
    """Raise the answer of a backend that does not compile a program.

    Args:
        text: the program as MLIR.
        program: the program.
        refusal: returns the reason why the backend cannot compile it, or None. A program that is
            also invalid counts as rejected.

    Raises:
        Unsupported: if MLIR's verifier cannot run, or the backend cannot compile the program.
        Rejected: if the program is invalid.
    """
    unasked = verifier_refusal_of(program)
    if unasked is not None:
        raise Unsupported(unasked)
    error = refusal(program)
    if error is not None:
        invalid = refused_by_verifier(text)
        raise error if invalid is None else Rejected(invalid)

"""Verification of a program before one of XLA's compilers sees it."""

from __future__ import annotations

from collections.abc import Callable

from conformance.backends.base import BackendError, Rejected, Unsupported
from conformance.backends.interpreter.limits import why_not_verified
from conformance.backends.xla_messages import refused_by_verifier
from reference.ir.program import Program


def verify(text: str, program: Program, refusal: Callable[[Program], BackendError | None]) -> None:
    """Raise what a backend answers to a program that it does not compile.

    Args:
        text: the program as MLIR.
        program: the program.
        refusal: returns why the backend cannot compile it, or None. A program that is invalid,
            too, counts as rejected.

    Raises:
        Unsupported: when MLIR's verifier cannot be asked, or the backend cannot compile it.
        Rejected: when the program is invalid.
    """
    unasked = why_not_verified(program)
    if unasked is not None:
        raise Unsupported(unasked)
    error = refusal(program)
    if error is not None:
        invalid = refused_by_verifier(text)
        raise error if invalid is None else Rejected(invalid)

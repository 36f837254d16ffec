"""Programs that cost libtpu's compiler far more than others.

Source: libtpu 0.0.50, measured. TPUs divide no integers of 64 bits. A quotient becomes some
thousand operations on words of 32 bits, and the time of the fusion pass grows with the square of
their number: one program takes over 20 s, and two take 3 s of processor time without that pass.
Fusion groups operations and changes none of them.
"""

from __future__ import annotations

from reference.ir.program import Operation, Program, TensorType

FUSION = "tpu_fusion"
"""The pass that groups operations, by libtpu's name."""

_DIVISIONS = frozenset({"divide", "remainder"})
_WORD = 32


def divides_wide_integers(program: Program) -> bool:
    """Return whether a program divides integers that are wider than the words of a TPU."""
    return any(map(_divides_wide_integers, program.walk()))


def _divides_wide_integers(operation: Operation) -> bool:
    if operation.name not in _DIVISIONS:
        return False
    types = (value.type for value in operation.results)
    return any(
        isinstance(of, TensorType) and of.stored.is_integer and of.stored.bits > _WORD
        for of in types
    )


def passes_to_omit(program: Program) -> tuple[str, ...]:
    """Return the passes that the compiler for TPUs does without, for a program."""
    return (FUSION,) if divides_wide_integers(program) else ()

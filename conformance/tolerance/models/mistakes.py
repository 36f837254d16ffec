"""What compilers are known to compute in place of a whole program, each with its class."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.tolerance.models import (
    gathered_first,
    operands_as_parts,
    reshaped_padding,
    trip_counts,
)
from reference.ir.program import Program
from reference.ir.types import Array

Explains = Callable[[Program, Sequence[Array], Sequence[Array]], bool]
"""explains(program, inputs, results): whether the mistake gives just these results."""

_OF_SEVERAL: tuple[tuple[str, Explains], ...] = (
    (operands_as_parts.LABEL, operands_as_parts.explains),
    (gathered_first.LABEL, gathered_first.explains),
)
"""Of programs of several processes: in place of a collective of several operands."""

_OF_ONE: tuple[tuple[str, Explains], ...] = (
    (trip_counts.LABEL, trip_counts.explains),
    (reshaped_padding.LABEL, reshaped_padding.explains),
)

MISTAKES = frozenset(label for label, _ in (*_OF_SEVERAL, *_OF_ONE))
"""Their classes."""


def mistaken(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> str:
    """The class of the mistake that explains all results of a program, "" for none."""
    models = _OF_SEVERAL if program.process_count > 1 else _OF_ONE
    return next((label for label, explains in models if explains(program, inputs, actual)), "")

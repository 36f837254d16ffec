"""What compilers are known to compute in place of a whole program, each with its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models import (
    bounded_starts,
    gathered_first,
    operands_as_parts,
    reshaped_padding,
    trip_counts,
)
from conformance.tolerance.models.interpreter import indices
from reference.ir.program import Operation, Program
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
    (bounded_starts.LABEL, bounded_starts.explains),
)

_TAKEN_FOR: dict[str, tuple[tuple[str, Callable[[Program], Program]], ...]] = {
    Hardware.INTERPRETER: ((indices.LABEL, indices.sign_extended),),
}
"""Of what computes, which program it takes a program for: those of its mistakes that values cannot
tell, where they are quantized and no value on the way can be shown."""

MISTAKES = frozenset(
    label
    for label, _ in (*_OF_SEVERAL, *_OF_ONE, *(each for of in _TAKEN_FOR.values() for each in of))
)
"""Their classes."""

_CONCERNED: dict[str, Callable[[Operation], bool]] = {
    trip_counts.LABEL: trip_counts.concerns,
    reshaped_padding.LABEL: reshaped_padding.concerns,
    bounded_starts.LABEL: bounded_starts.concerns,
    indices.LABEL: indices.concerns,
}


def concerned(label: str, program: Program) -> list[Operation]:
    """The operations of main that a mistake may be made in, its class being known."""
    concerns = _CONCERNED.get(label)
    operations = program.main.body.operations[:-1]
    return [one for one in operations if concerns is None or concerns(one)]


def mistaken(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> str:
    """The class of the mistake that explains all results of a program, "" for none."""
    models = _OF_SEVERAL if program.process_count > 1 else _OF_ONE
    return next((label for label, explains in models if explains(program, inputs, actual)), "")


def taken_for(program: Program, platform: str) -> Iterator[tuple[str, Program]]:
    """What a program is taken for on that platform, each program with the class of its results."""
    for label, made in _TAKEN_FOR.get(platform, ()):
        other = made(program)
        if other is not program:
            yield label, other

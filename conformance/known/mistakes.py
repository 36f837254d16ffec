"""What compilers are known to compute in place of a whole program, each with its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.known.interpreter import indices
from conformance.known.xla import folded_bitcasts, trip_counts
from conformance.known.xla.indexing import bounded_starts, bounded_windows, reshaped_padding
from conformance.known.xla.processes import gathered_first, operands_as_parts
from conformance.known.xla.subnormals import flushed_topk
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Operation, Program
from reference.ir.types import Array

Predicts = Callable[[Program, Sequence[Array], Sequence[Array]], Sequence[Array]]
"""predicts(program, inputs, results): for each result a mask of the elements that are foretold."""

Explains = Callable[[Program, Sequence[Array], Sequence[Array]], bool]
"""explains(program, inputs, results): whether the mistake gives just these results."""


def _any(operation: Operation) -> bool:
    del operation
    return True


@dataclass(frozen=True, slots=True)
class Mistake:
    """A class of mistakes: what tells it, and which operations of main it may be made in.

    `explains` tells it by values. Where these are quantized, and none on the way can be shown,
    `taken_for` makes the program that is computed instead (the same one where nothing changes),
    `platform` being what computes so. Where some elements may be anything, `predicts` tells which
    others the mistake gives.
    """

    label: str
    explains: Explains | None = None
    concerns: Callable[[Operation], bool] = _any
    several: bool = False
    """Whether it is made in programs of several processes, in place of a collective."""
    platform: str = ""
    taken_for: Callable[[Program], Program] | None = None
    predicts: Predicts | None = None

    @property
    def unsteady(self) -> bool:
        """Whether some elements may be anything, and others every time."""
        return self.predicts is not None


_MISTAKES = (
    Mistake(operands_as_parts.LABEL, operands_as_parts.explains, several=True),
    Mistake(gathered_first.LABEL, gathered_first.explains, several=True),
    Mistake(trip_counts.LABEL, trip_counts.explains, trip_counts.concerns),
    Mistake(reshaped_padding.LABEL, reshaped_padding.explains, reshaped_padding.concerns),
    Mistake(
        bounded_starts.LABEL, bounded_starts.explains, bounded_starts.concerns,
        predicts=bounded_starts.predicts,
    ),
    Mistake(
        bounded_windows.LABEL, bounded_windows.explains, bounded_windows.concerns,
        predicts=bounded_windows.predicts,
    ),
    Mistake(flushed_topk.LABEL, flushed_topk.explains, flushed_topk.concerns),
    Mistake(
        folded_bitcasts.BY_BYTES, folded_bitcasts.by_bytes, folded_bitcasts.concerns,
        predicts=folded_bitcasts.within_the_constant,
    ),
    Mistake(folded_bitcasts.SIGN_ABOVE, folded_bitcasts.sign_above, folded_bitcasts.concerns),
    Mistake(
        indices.LABEL, concerns=indices.concerns,
        platform=Hardware.INTERPRETER, taken_for=indices.sign_extended,
    ),
)  # fmt: skip

MISTAKES = {one.label: one for one in _MISTAKES}
"""All of them, by their classes."""


def concerned(label: str, program: Program) -> list[Operation]:
    """The operations of main that a mistake may be made in, its class being known."""
    return [one for one in program.main.body.operations[:-1] if MISTAKES[label].concerns(one)]


def mistaken(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> str:
    """The class of the mistake that explains all results of a program, "" for none."""
    several = program.process_count > 1
    told = (
        (one.label, one.explains) for one in _MISTAKES if one.explains and one.several is several
    )
    return next((label for label, explains in told if explains(program, inputs, actual)), "")


def predicted(
    label: str, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> Sequence[Array]:
    """Which elements of the results a mistake of that class gives, and leaves not to chance."""
    predicts = MISTAKES[label].predicts
    if predicts is None:
        return [np.ones(result.shape, np.bool_) for result in actual]
    return predicts(program, inputs, actual)


def taken_for(program: Program, platform: str) -> Iterator[tuple[str, Program]]:
    """What a program is taken for on that platform, each program with the class of its results."""
    for one in _MISTAKES:
        if one.taken_for is not None and one.platform == platform:
            other = one.taken_for(program)
            if other is not program:
                yield one.label, other

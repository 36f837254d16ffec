"""Programs of a trial on the backend: compiled as one module, taken apart where that is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.backends.base import BackendError, Unsupported
from conformance.backends.session import Session
from conformance.campaign.fuzzing.trials import Inputs
from conformance.stablehlo.emit import EmitError
from conformance.transforms.merge import merge
from reference.ir.program import Program
from reference.ir.types import Array

Results = list[list[Array]] | BackendError
"""A program's results on each of its sets of inputs, or the backend's answer."""

_WORD = re.compile(r"[a-z][a-z0-9_-]{3,}")
"""What may be an op's name in a message, in StableHLO's spelling or HLO's; shorter ones are words
of the language too."""


@dataclass(slots=True)
class Prepared:
    """A program of a trial, by its number, with sets of inputs and what is expected of each."""

    number: int
    program: Program
    sets: list[Inputs]
    expected: Sequence[Sequence[Array]]


def ran(session: Session, group: Sequence[Prepared]) -> list[tuple[Prepared, Results]]:
    """Each program with its results, in order of their numbers."""
    return sorted(_ran(session, group), key=lambda pair: pair[0].number)


def _ran(session: Session, group: Sequence[Prepared]) -> list[tuple[Prepared, Results]]:
    if not group:
        return []
    try:
        return list(zip(group, _run_together(session, group), strict=True))
    except BackendError as error:
        if len(group) == 1:
            return [(group[0], error)]
        parts = _parted(group, str(error))
    except EmitError as error:
        if len(group) == 1:
            return [(group[0], Unsupported(str(error)))]
        parts = _halves(group)
    return [pair for part in parts for pair in _ran(session, part)]


def _parted(group: Sequence[Prepared], message: str) -> list[Sequence[Prepared]]:
    """Parts of programs that are refused together, to be tried each by itself.

    Those with an op that the message names, and the others; each alone where all of them have it:
    most are refused then. Halves where it names none.
    """
    words = {word.replace("-", "_") for word in _WORD.findall(message)}
    named = [one for one in group if words & _names(one.program)]
    if not named:
        return _halves(group)
    if len(named) == len(group):
        return [[one] for one in group]
    return [named, [one for one in group if one not in named]]


def _names(program: Program) -> set[str]:
    return {one.name.rpartition(".")[2] for one in program.walk()}


def _halves(group: Sequence[Prepared]) -> list[Sequence[Prepared]]:
    middle = len(group) // 2
    return [group[:middle], group[middle:]]


def _run_together(session: Session, group: Sequence[Prepared]) -> list[list[list[Array]]]:
    whole = group[0].program if len(group) == 1 else merge([one.program for one in group])
    compiled = session.compile(whole)
    results: list[list[list[Array]]] = [[] for _ in group]
    for turn in range(max(len(one.sets) for one in group)):
        given = [one.sets[min(turn, len(one.sets) - 1)] for one in group]
        outputs = compiled.run(tuple(array for inputs in given for array in inputs))
        at = 0
        for one, kept in zip(group, results, strict=True):
            count = len(outputs) if len(group) == 1 else len(one.expected[0])
            if turn < len(one.sets):
                kept.append(outputs[at : at + count])
            at += count
    return results

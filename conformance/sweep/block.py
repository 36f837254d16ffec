"""Blocks: ranges of arguments of some functions, run on the backend and judged.

A block is the unit of a worker's work and of storage. It runs in pieces: each is one execution of
one program with all functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from conformance.backends.base import BackendError, Failed, failure_of
from conformance.backends.session import Compiled, Session, open_session
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.sweep.arguments import Domain
from conformance.sweep.judging import outcome_of
from conformance.sweep.outcome import NOTHING, ClassCount, SweepOutcome, add_outcomes
from conformance.sweep.properties import properties_of
from conformance.text import one_line
from conformance.transforms.merge import merge
from conformance.verdict import Verdict
from reference.ir.program import Program
from reference.ir.types import Array

PIECE = 1 << 19
"""Number of arguments of one execution."""


@dataclass(frozen=True, slots=True)
class Block:
    """The arguments with numbers from `start` to before `stop`, of functions that share them.

    `indices` are the places of the functions in the plan.
    """

    indices: tuple[int, ...]
    domains: tuple[Domain, ...]
    start: int
    stop: int

    @property
    def values(self) -> int:
        """The number of arguments, of all functions together."""
        return (self.stop - self.start) * sum(1 + domain.is_mirrored for domain in self.domains)

    def single(self, number: int) -> Block:
        """Return the block with the same arguments and a single function."""
        return Block((self.indices[number],), (self.domains[number],), self.start, self.stop)


def run_block(
    backend: str, block: Block, hypotheses: Sequence[EntryPrediction] = ()
) -> tuple[SweepOutcome, ...]:
    """Run and judge a block; return an outcome for each of its functions.

    Args:
        backend: the name of the backend, as given.
        block: the arguments.
        hypotheses: the hypotheses of expectations about the backend.

    Raises:
        NotAvailable: when the backend is not available.
    """
    session = _session(backend)
    try:
        with in_force(hypotheses):
            return _run_pieces(session, block)
    except BackendError as error:
        if len(block.indices) == 1:
            return (_without_results(block, error),)
    singles = [block.single(number) for number in range(len(block.indices))]
    return tuple(run_block(backend, single, hypotheses)[0] for single in singles)


@cache
def _session(backend: str) -> Session:
    """Return the session of a backend. All blocks share it, because it keeps compiled programs."""
    return open_session(backend)


def _without_results(block: Block, error: BackendError) -> SweepOutcome:
    return lost_outcome(block, *failure_of(error), one_line(error))


def lost_outcome(block: Block, verdict: Verdict, kind: str, message: str) -> SweepOutcome:
    """Return the outcome of a function for which a block gave no results."""
    one = ClassCount(verdict=verdict, kind=kind, count=block.values, message=message)
    return SweepOutcome(values=block.values, right=0, classes=(one,))


def _run_pieces(session: Session, block: Block) -> tuple[SweepOutcome, ...]:
    outcomes = [NOTHING] * len(block.domains)
    each = max(1, PIECE >> block.domains[0].is_mirrored)
    compiled: dict[int, Compiled] = {}
    for start in range(block.start, block.stop, each):
        stop = min(start + each, block.stop)
        operands = block.domains[0].arguments(start, stop)
        size = len(operands[0])
        if size not in compiled:
            compiled[size] = session.compile_cached(program_of(block, size))
        results = _execute(compiled[size], block, operands)
        for index, (domain, actual) in enumerate(zip(block.domains, results, strict=True)):
            before, known = outcomes[index], properties_of(domain.function)
            worst = -1.0 if before.worst is None else before.worst.ulp or 0.0
            judged = outcome_of(domain, operands, actual, session.hardware, worst)
            outcomes[index] = add_outcomes(before, judged, known.positive, known.negative)
    return tuple(outcomes)


def _execute(compiled: Compiled, block: Block, operands: tuple[Array, ...]) -> list[Array]:
    results = compiled.run(operands * len(block.domains))
    if len(results) != len(block.domains):
        raise Failed(f"{len(block.domains)} results expected, got {len(results)}")
    return [np.asarray(result) for result in results]


def program_of(block: Block, size: int) -> Program:
    """Return the program of all functions of a block, on vectors of a size."""
    programs = [domain.function.program(size) for domain in block.domains]
    return merge(programs)

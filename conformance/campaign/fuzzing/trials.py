"""What trials are, and what they come to: between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.check.outcome import Outcome
from conformance.gate.expectations import Expectation
from reference.ir.program import Program
from reference.ir.types import Array

Inputs = tuple[Array, ...]

ONLY_TOGETHER = "only together"
"""What is counted where a program fails among others and not alone."""

NOT_EVALUATED = "not evaluated"
"""What is counted where the reference has no answer."""


KNOWN_TO_CRASH = "known to crash"
"""What is counted where an expectation says that an operation ends its process: it is not run."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The programs of a campaign from number `start` to before `stop`.

    `ops` are those that it is about, none for all; `seconds` is what the reference may take for an
    evaluation, `seeds` the file of the pieces that some programs are made of, "" for none.
    """

    backend: str
    seed: int
    start: int
    stop: int
    ops: frozenset[str] = frozenset()
    expectations: tuple[Expectation, ...] = field(default=(), repr=False)
    seconds: float = 5.0
    seeds: str = ""

    def __len__(self) -> int:
        return self.stop - self.start

    def singles(self) -> list[Trial]:
        """The same programs, each a trial of its own."""
        rest = (self.ops, self.expectations, self.seconds, self.seeds)
        return [
            Trial(self.backend, self.seed, n, n + 1, *rest) for n in range(self.start, self.stop)
        ]


@dataclass(frozen=True, slots=True)
class Hit:
    """A program that fails on some inputs: its number, and what it came to."""

    number: int
    program: Program
    inputs: Inputs
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial came to: how many programs by verdict, what fails, modules, peak memory.

    `pairs` are the pairs of ops of which one takes what the other makes.
    """

    counts: dict[str, int]
    hits: tuple[Hit, ...]
    pairs: frozenset[tuple[str, str]]
    modules: int
    peak_rss_mb: float


def pairs_of(program: Program) -> set[tuple[str, str]]:
    """The pairs of ops of main of which the second takes what the first makes."""
    makers: dict[str, str] = {}
    found: set[tuple[str, str]] = set()
    for operation in program.main.body.operations[:-1]:
        found |= {
            (makers[value.name], operation.name)
            for value in operation.operands
            if value.name in makers
        }
        makers |= {value.name: operation.name for value in operation.results}
    return found

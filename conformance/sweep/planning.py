"""The plan of a sweep: its functions with their arguments, cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from conformance.errors import UsageError
from conformance.executors.executor import LOCAL, Engine
from conformance.limits import IDENTITY, SWEEP_LIMITS, Limits
from conformance.sweep.arguments import Domain, domain_of
from conformance.sweep.block import PIECE, Block
from conformance.sweep.function import Function, functions_of
from conformance.sweep.journal import Request

SAMPLE = 1 << 18
"""Default of the largest number of arguments of a function."""

BLOCK = 1 << 22
"""Largest number of values of a block."""

_TOGETHER = 8
"""Largest number of functions of a block: a program of many functions takes long to compile."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a sweep; see the options of the command."""

    ops: tuple[str, ...]
    out: Path
    backend: str = "cpu"
    element_types: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    arity: int = 0
    sample: int = SAMPLE
    exhaustive: bool = False
    seed: int = field(default=0, metadata=IDENTITY)
    shard: tuple[int, int] = (1, 1)
    jobs: int | None = None
    engine: Engine = LOCAL
    limits: Limits = SWEEP_LIMITS
    expectations: tuple[str, ...] | None = None
    backend_versions: tuple[str, ...] = ()
    fresh: bool = False
    command: str = ""

    @property
    def request(self) -> Request:
        """The stored options that decide the plan and the verdicts."""
        names = Request.__struct_fields__
        return Request(**{name: getattr(self, name) for name in names})


def options_of(request: Request, out: Path, command: str) -> Options:
    """Return the options of the whole sweep that a stored request describes."""
    return Options(out=out, command=command, **msgspec.structs.asdict(request))


@dataclass(frozen=True, slots=True)
class Plan:
    """The functions of a sweep, their arguments, and the blocks of a shard."""

    functions: tuple[Function, ...]
    domains: tuple[Domain, ...]
    blocks: tuple[Block, ...]

    @property
    def names(self) -> str:
        """The names of the functions, in a line."""
        return ", ".join(function.name for function in self.functions)


def shard_of(blocks: Sequence[Block], part: int, parts: int) -> Sequence[Block]:
    """Return the blocks of the i-th of n parts."""
    return blocks[part - 1 :: parts]


def plan(options: Options) -> Plan:
    """Plan a sweep.

    Raises:
        UsageError: when a pattern matches nothing, no function is left, or the shard is no part.
    """
    part, parts = options.shard
    if not 1 <= part <= parts:
        raise UsageError(f"--shard {part}/{parts}: the first number must be from 1 to {parts}")
    functions = functions_of(options.ops, options.element_types, options.to, options.arity)
    if not functions:
        raise UsageError("no function is left to sweep: the ops have no such element type or form")
    domains = [
        domain_of(function, options.sample, exhaustive=options.exhaustive, seed=options.seed)
        for function in functions
    ]
    blocks = tuple(_blocks(domains))
    return Plan(tuple(functions), tuple(domains), tuple(shard_of(blocks, part, parts)))


def _blocks(domains: Sequence[Domain]) -> Iterator[Block]:
    """Yield the blocks: several small domains as one block, a large domain as several blocks."""
    small: dict[object, list[int]] = {}
    for index, domain in enumerate(domains):
        if domain.values <= PIECE:
            small.setdefault(_arguments_of(domain), []).append(index)
    for indices in small.values():
        for start in range(0, len(indices), _TOGETHER):
            some = tuple(indices[start : start + _TOGETHER])
            chosen = tuple(domains[index] for index in some)
            yield Block(some, chosen, 0, chosen[0].numbers)
    for index, domain in enumerate(domains):
        if domain.values > PIECE:
            each = BLOCK >> domain.is_mirrored
            for start in range(0, domain.numbers, each):
                yield Block((index,), (domain,), start, min(start + each, domain.numbers))


def _arguments_of(domain: Domain) -> object:
    """Return a key that is equal for domains with equal arguments."""
    function = domain.function
    return function.operand, function.arity, domain.count, domain.is_exhaustive, domain.numbers

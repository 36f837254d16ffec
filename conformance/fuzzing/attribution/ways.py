"""Ways to run a finding's program otherwise: written so that it means the same, compiled otherwise.

A program with its constants as parameters is not folded, one with its parameters as constants is
folded as a whole; one with barriers between its operations is neither fused nor rewritten across
them. A pass without which the divergence is gone is the one to look at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.backends.base import Settings
from conformance.backends.passes import Passes
from conformance.fuzzing.trial import Inputs
from conformance.transforms.equivalent import (
    with_barriers,
    with_constant_arguments,
    with_constants_as_parameters,
)
from reference.ir.program import Program

Rewritten = tuple[Program, Inputs] | None
"""The program written otherwise, with its inputs; None where there is nothing to be rewritten."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a program: by a rewriting's name in `REWRITINGS`, or with settings."""

    name: str
    rewriting: str = ""
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be asked about a program: its ways but for passes, and passes that can be left out.

    `note` says what cannot be asked, and why.
    """

    ways: tuple[Way, ...] = ()
    passes: Passes = field(default_factory=Passes)
    note: str = ""


def _behind_barriers(program: Program, inputs: Inputs) -> Rewritten:
    apart = with_barriers(program)
    return None if apart is None else (apart, inputs)


REWRITINGS: dict[str, Callable[[Program, Inputs], Rewritten]] = {
    "with constants as parameters": with_constants_as_parameters,
    "with parameters as constants": with_constant_arguments,
    "with barriers between operations": _behind_barriers,
}
"""How a program is written otherwise, by what people are told."""

UNOPTIMIZED = Way("with xla_backend_optimization_level=0", settings=Settings(unoptimized=True))


def rewritings(program: Program, inputs: Inputs) -> list[Way]:
    """The ways of writing it otherwise that this program has."""
    return [
        Way(name, rewriting=name)
        for name, rewrite in REWRITINGS.items()
        if rewrite(program, inputs) is not None
    ]


def without(*names: str) -> Way:
    """The program compiled without these passes."""
    word = "passes" if len(names) > 1 else "pass"
    return Way(f"without {word} {', '.join(names)}", settings=Settings(without=names))

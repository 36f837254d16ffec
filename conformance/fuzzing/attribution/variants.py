"""Variants of a finding's program: rewritten with the same meaning, or compiled with other
settings.

A program with its constants as parameters is not folded; with its parameters as constants it is
folded as a whole; with barriers between its operations it is neither fused nor rewritten across
them. If the divergence is gone without a pass, that pass is the culprit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.backends.base import Settings
from conformance.backends.passes import Passes
from conformance.pipeline.items import Inputs
from conformance.transforms.equivalent import (
    insert_barriers,
    turn_constants_into_parameters,
    turn_inputs_into_constants,
)
from reference.ir.program import Program

Rewritten = tuple[Program, Inputs] | None
"""The rewritten program with its inputs; None if the rewriting does not apply."""


@dataclass(frozen=True, slots=True)
class CompileVariant:
    """A variant of a program: a rewriting by its name in `REWRITINGS`, or compiler settings."""

    name: str
    rewriting: str = ""
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Plan:
    """Variants to try for a program, and the passes that can be disabled. `note` says which
    variants cannot be tried, and why.
    """

    ways: tuple[CompileVariant, ...] = ()
    passes: Passes = field(default_factory=Passes)
    note: str = ""


def _put_behind_barriers(program: Program, inputs: Inputs) -> Rewritten:
    apart = insert_barriers(program)
    return None if apart is None else (apart, inputs)


REWRITINGS: dict[str, Callable[[Program, Inputs], Rewritten]] = {
    "with constants as parameters": turn_constants_into_parameters,
    "with parameters as constants": turn_inputs_into_constants,
    "with barriers between operations": _put_behind_barriers,
}
"""Functions that rewrite a program, by the names that reports show."""

UNOPTIMIZED = CompileVariant(
    "with xla_backend_optimization_level=0", settings=Settings(unoptimized=True)
)


def rewritings(program: Program, inputs: Inputs) -> list[CompileVariant]:
    """Return the variants that rewrite this program."""
    return [
        CompileVariant(name, rewriting=name)
        for name, rewrite in REWRITINGS.items()
        if rewrite(program, inputs) is not None
    ]


def without_passes(*names: str) -> CompileVariant:
    """Return the variant that disables these passes."""
    word = "passes" if len(names) > 1 else "pass"
    return CompileVariant(f"without {word} {', '.join(names)}", settings=Settings(without=names))

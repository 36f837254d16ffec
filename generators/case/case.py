"""Cases: a program, and recipes for the inputs that it is run on."""

from __future__ import annotations

from dataclasses import dataclass

from reference.ir.program import Program


@dataclass(frozen=True, slots=True)
class InputRecipe:
    """A recipe for the parameters of main: value profiles by name, a seed, and a correlation.

    `profiles` has one profile name per parameter (generators/values/contents.py lists them).
    `correlation` relates the second and later parameters of the same type to the first:
    "independent", "equal", "negated" or "one_ulp".
    """

    profiles: tuple[str, ...]
    seed: int
    correlation: str = "independent"


@dataclass(frozen=True, slots=True)
class Case:
    """A program and several input sets, each as a recipe: small, hashable, picklable."""

    program: Program
    inputs: tuple[InputRecipe, ...]

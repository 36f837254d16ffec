"""Ops that are associative in exact arithmetic, so that a fold may use any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Monoid:
    """An associative and commutative op with a neutral element.

    `ufunc` is the op in numpy, `logical` its version on booleans. If `rounds`, floating-point
    results equal the exact results up to rounding; otherwise they are elements, or bits of
    elements. `idempotent`: x op x = x. `extremum` is 1 for the maximum, -1 for the minimum, else 0.
    `absorbing` is the integer z with x op z = z in every integer type (-1: all bits set), None if
    there is no such integer.
    """

    name: str
    ufunc: np.ufunc
    logical: np.ufunc
    rounds: bool = False
    idempotent: bool = False
    extremum: int = 0
    absorbing: int | None = None

    @property
    def bitwise(self) -> bool:
        """Whether the op is bitwise, and therefore defined on integers and booleans only."""
        return not self.rounds and not self.extremum


ADD = Monoid("add", np.add, np.logical_or, rounds=True)
AND = Monoid("and", np.bitwise_and, np.logical_and, idempotent=True, absorbing=0)
MAXIMUM = Monoid("maximum", np.maximum, np.logical_or, idempotent=True, extremum=1)
MINIMUM = Monoid("minimum", np.minimum, np.logical_and, idempotent=True, extremum=-1)
MULTIPLY = Monoid("multiply", np.multiply, np.logical_and, rounds=True, absorbing=0)
OR = Monoid("or", np.bitwise_or, np.logical_or, idempotent=True, absorbing=-1)
XOR = Monoid("xor", np.bitwise_xor, np.logical_xor)

MONOIDS: dict[str, Monoid] = {
    monoid.name: monoid for monoid in (ADD, AND, MAXIMUM, MINIMUM, MULTIPLY, OR, XOR)
}
"""All monoids by the mnemonic of their op."""

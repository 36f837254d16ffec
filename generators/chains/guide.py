"""What guides a campaign's choices: what it has met seldom is drawn more often.

Three things are counted: pairs of ops of which one takes what the other makes, steps (cases of an
op, and patterns) by element type, and values of the named choices that make a case of an op.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from generators.case.choices import Asked, Pick
from reference.ir.types import ALL, ElementType
from reference.ops.table import OPS

ENOUGH = 255
"""What is met more often counts as met so often: a count takes one byte."""

_WEIGHTS = (64, 8, 3, 2) + (1,) * (ENOUGH - 3)
"""What is drawn weighs so much, by how often it was met: whole numbers, as draws are exact."""

COLUMN = {name: number for number, name in enumerate(OPS)}
"""The number of an op in a row of pairs."""

TYPE = {of: number for number, of in enumerate(ALL)}
"""The number of an element type in a row of steps."""

_NONE = bytes(max(len(COLUMN), len(TYPE)))

Wanted = Mapping[str, tuple[tuple[str, str], ...]]
"""By op the values, (dimension, label), that cases of it were offered and have seldom taken."""


@dataclass(frozen=True, slots=True)
class Met:
    """How often a campaign has met what: rows of counts, one byte each.

    `pairs` has by an op the counts of the ops that take what it makes (`COLUMN`), `steps` by the
    name of a step those of element types (`TYPE`). `types` has by element type how many steps that
    there are for it were not taken yet.
    """

    pairs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    steps: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    wanted: Wanted = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    types: tuple[int, ...] = ()

    def seldom(self, names: Sequence[str], of: ElementType, maker: str = "") -> list[int]:
        """The weights of some steps on a value of an element type, which `maker` makes."""
        column = TYPE[of]
        by_type = [_WEIGHTS[self.steps.get(name, _NONE)[column]] for name in names]
        if not maker:
            return by_type
        row = self.pairs.get(maker, _NONE)
        return [
            weight * _WEIGHTS[row[COLUMN[name]]]
            for name, weight in zip(names, by_type, strict=True)
        ]


@dataclass(slots=True)
class Guide:
    """The choices of one program: guided by what was `met`, if anything is known of that.

    `steps` and `asked` grow with what the program has: steps by name with the element type of the
    value that they begin with, and named choices with the op whose case asked for them. Values may
    be quantized where the backend takes that.
    """

    met: Met | None = None
    quantized: bool = False
    steps: list[tuple[str, ElementType]] = field(default_factory=list[tuple[str, ElementType]])
    asked: list[tuple[str, Asked]] = field(default_factory=list[tuple[str, Asked]])

    @property
    def links(self) -> int:
        """How many steps of ten are cases of ops: they alone can be told what to meet."""
        return 4 if self.met is None else 5

    def op(self, pick: Pick, names: Sequence[str], maker: str, of: ElementType) -> str:
        """One of some ops, which is to take a value that `maker` makes."""
        if self.met is None:
            return names[pick(len(names))]
        return names[weighed(pick, self.met.seldom(names, of, maker))]

    def pattern(self, pick: Pick, names: Sequence[str], of: ElementType) -> int:
        """The number of one of some patterns, by their names."""
        if self.met is None:
            return pick(len(names))
        return weighed(pick, self.met.seldom(names, of))

    def element_type(self, pick: Pick) -> ElementType:
        """One of all element types: those more often for which more steps were not taken."""
        if self.met is None or not any(self.met.types):
            return ALL[pick(len(ALL))]
        return ALL[weighed(pick, self.met.types)]

    def aim(self, pick: Pick, op: str) -> None:
        """One time in two plan a value of a named choice that cases of an op have seldom taken."""
        wanted = () if self.met is None else self.met.wanted.get(op, ())
        if wanted and pick(2):
            dimension, label = wanted[pick(len(wanted))]
            pick.aim({dimension: label})


def weighed(pick: Pick, weights: Sequence[int]) -> int:
    """A number below how many weights there are, each as often as its weight says."""
    sums = list(accumulate(weights))
    return bisect_right(sums, pick(sums[-1]))

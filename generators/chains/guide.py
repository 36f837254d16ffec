"""Guidance of a campaign's choices: rarely covered choices are drawn more often.

Three kinds of coverage are counted: pairs of ops where the second uses the result of the first;
steps (cases of an op, and patterns) by element type; values of the named choices of an op's cases.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from generators.case.choices import NamedChoice, Pick
from reference.ir.types import ALL, ElementType
from reference.ops.table import OPS

ENOUGH = 255
"""The maximum count, which fits in one byte."""

_WEIGHTS = (64, 8, 3, 2) + (1,) * (ENOUGH - 3)
"""The weight of a choice by its count: integers, because draws are exact."""

COLUMN = {name: index for index, name in enumerate(OPS)}
"""The number of an op in a row of pairs."""

TYPE = {of: index for index, of in enumerate(ALL)}
"""The number of an element type in a row of steps."""

_NONE = bytes(max(len(COLUMN), len(TYPE)))

Wanted = Mapping[str, tuple[tuple[str, str], ...]]
"""Values of named choices, (dimension, label), that an op's cases were offered and rarely took."""


@dataclass(frozen=True, slots=True)
class CoverageCounts:
    """The coverage of a campaign: rows of counts, one byte each.

    `pairs` maps an op to the counts of the ops that use its results (`COLUMN`), `steps` the name of
    a step to the counts of element types (`TYPE`). `types` has for each element type the number of
    steps not covered yet.
    """

    pairs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    steps: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    wanted: Wanted = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    types: tuple[int, ...] = ()

    def step_weights(
        self, names: Sequence[str], element_type: ElementType, maker: str = ""
    ) -> list[int]:
        """Return the weights of steps on a value of a type that the op `maker` produces."""
        column = TYPE[element_type]
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
    """The choices of one program, guided by the coverage `met`, if known.

    `steps` and `asked` record the program's contents: steps by name with the element type of their
    first value, and named choices with the op of their case. Values may be quantized if the backend
    supports that.
    """

    met: CoverageCounts | None = None
    quantized: bool = False
    steps: list[tuple[str, ElementType]] = field(default_factory=list[tuple[str, ElementType]])
    asked: list[tuple[str, NamedChoice]] = field(default_factory=list[tuple[str, NamedChoice]])

    @property
    def links_per_ten_steps(self) -> int:
        """The number of cases of ops among ten steps; only these can take planned choices."""
        return 4 if self.met is None else 5

    def choose_op(
        self, pick: Pick, names: Sequence[str], maker: str, element_type: ElementType
    ) -> str:
        """Return one of the ops `names`, which will use a value that the op `maker` produces."""
        if self.met is None:
            return names[pick(len(names))]
        return names[draw_weighted(pick, self.met.step_weights(names, element_type, maker))]

    def choose_pattern(self, pick: Pick, names: Sequence[str], element_type: ElementType) -> int:
        """Return the index of a pattern, given the names of all candidates."""
        if self.met is None:
            return pick(len(names))
        return draw_weighted(pick, self.met.step_weights(names, element_type))

    def choose_element_type(self, pick: Pick) -> ElementType:
        """Return an element type; types with more uncovered steps are drawn more often."""
        if self.met is None or not any(self.met.types):
            return ALL[pick(len(ALL))]
        return ALL[draw_weighted(pick, self.met.types)]

    def plan_rare_choice(self, pick: Pick, op: str) -> None:
        """Plan a rarely taken value of a named choice, in half of the cases of an op."""
        wanted = () if self.met is None else self.met.wanted.get(op, ())
        if wanted and pick(2):
            dimension, label = wanted[pick(len(wanted))]
            pick.set_plan({dimension: label})


def draw_weighted(pick: Pick, weights: Sequence[int]) -> int:
    """Return an index into the weights, with probabilities proportional to them."""
    sums = list(accumulate(weights))
    return bisect_right(sums, pick(sums[-1]))

"""Programs that a campaign varies: failing programs, and fragments that first covered a pair of
ops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from random import Random

from conformance.fuzzing.seeds.cutting import fragment_ending_with
from conformance.fuzzing.steering.coverage_counts import Pair, pairs_of
from generators.chains.guide import COLUMN, CoverageCounts
from generators.chains.seeds.fragment import Fragment, is_usable
from reference.ir.program import Program

MOST_FAILING = 128
"""Largest number of failing programs that are kept, the first of each place."""

MOST_NEW = 256
"""Largest number of fragments that covered a new pair of ops; the latest are kept."""

LENGTH = 3
"""Largest number of operations of a fragment that covered a new pair of ops."""

PER_TRIAL = 4
"""Maximum number of programs of each kind that a trial gets to vary."""

NEW_PER_TRIAL = 2
"""Largest number of fragments that a trial returns."""


class Pool:
    """Fragments that later programs are variations of."""

    def __init__(self) -> None:
        """Begin with an empty pool."""
        self._failing: dict[str, Fragment] = {}
        self._new: deque[Fragment] = deque(maxlen=MOST_NEW)

    def add_new(self, fragments: Iterable[Fragment]) -> None:
        """Add fragments that first covered a pair of ops."""
        self._new.extend(fragments)

    def add_failing(self, place: str, program: Program) -> None:
        """Add a failing program if it is the first of its place."""
        if place in self._failing or len(self._failing) >= MOST_FAILING:
            return
        if is_usable(program):
            self._failing[place] = program

    def draw(self, key: int) -> tuple[Fragment, ...]:
        """Return some fragments, chosen by the key: equal keys and pools give equal fragments."""
        random = Random(key)  # noqa: S311 - a choice that anyone may foresee
        kinds = (list(self._failing.values()), list(self._new))
        return tuple(
            one for kind in kinds for one in random.sample(kind, min(len(kind), PER_TRIAL // 2))
        )


def new_pair_fragments(
    program: Program, earlier: CoverageCounts | None, seen: set[Pair]
) -> Iterator[Fragment]:
    """Yield the fragments that end in a pair of ops not covered before: neither in `earlier` nor in
    `seen`. New pairs are added to `seen`.
    """
    if earlier is None:
        return
    makers: dict[str, str] = {}
    for index, operation in enumerate(program.main.body.operations[:-1]):
        column = COLUMN.get(operation.name)
        for maker in dict.fromkeys(makers.get(value.name) for value in operation.operands):
            pair = (maker or "", operation.name)
            if maker is None or pair in seen or column is None:
                continue
            if maker in earlier.pairs and earlier.pairs[maker][column]:
                continue
            seen.add(pair)
            piece = fragment_ending_with(program, index, LENGTH)
            if piece is not None and pair in pairs_of(piece):  # not cut off, and no constant
                yield piece
        makers |= {value.name: operation.name for value in operation.results}

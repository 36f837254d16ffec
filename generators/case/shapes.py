"""Shapes: ranks 0 to 7, sizes 0 and 1, and sizes at the thresholds where kernels change.

Every choice is made through `Pick`, so that the same code serves a Hypothesis strategy and the
planned batches of plan.py. Choice 0 is always the simplest: that is what shrinking relies on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Pick = Callable[[int], int]
"""pick(n) chooses one of 0, ..., n - 1; smaller is simpler."""

T = TypeVar("T")

_RANKS = (0,) * 8 + (1,) * 40 + (2,) * 22 + (3,) * 13 + (4,) * 8 + (5,) * 6 + (6,) * 2 + (7,)

_THRESHOLDS = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
_LINES = (11, 12, 13, 19, 23, 29, 47, 100, 200, 500, 511, 512, 513) * 3 + (1023, 1024, 1025) * 3
_HUGE = (8191, 8192, 8193)

# By rank, the last entry for every higher one. In order of size, so that shrinking finds the
# smallest that fails; a dimension of size 0 comes last.
_SMALL = (
    (),
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17),
    (1, 2, 3, 4, 5, 7, 8, 9),
    (1, 2, 3, 4, 5),
    (1, 2, 3),
    (1, 2, 3),
    (1, 2),
)
_STRETCHED = (
    (),
    (*sorted(_THRESHOLDS * 12 + _LINES + _HUGE * 2), *(0,) * 24),
    (*_THRESHOLDS, 0, 0),
    (*_THRESHOLDS[:9], 0, 0),
    (8, 9, 31, 32, 33, 63, 64, 65, 0, 0),
    (8, 9, 16, 17, 31, 32, 33, 0, 0),
)


def _of_rank(rank: int, table: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return table[min(rank, len(table) - 1)]


def choose(pick: Pick, options: tuple[T, ...]) -> T:
    """One of the options, the first being the simplest."""
    return options[pick(len(options))]


def shape(pick: Pick, *, min_rank: int = 0) -> tuple[int, ...]:
    """A static shape of at least `min_rank` dimensions (at most 1 may be asked for).

    Most have at most 64 elements, some about 1,000, one in 200 about 8,000.
    """
    rank = max(min_rank, choose(pick, _RANKS))
    if rank == 0:
        return ()
    sizes = [choose(pick, _of_rank(rank, _SMALL)) for _ in range(rank)]
    if pick(3) == 2:  # one dimension across a threshold, or empty
        sizes[pick(rank)] = choose(pick, _of_rank(rank, _STRETCHED))
    return tuple(sizes)

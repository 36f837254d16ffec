"""Shapes of ranks 0 to 7, with sizes 0 and 1, and sizes at the thresholds of kernels.

Rank and kind of sizes are dimensions of variation. Choice 0 is always the simplest, because
shrinking relies on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from generators.case.choices import SCALAR, Pick, choose, seldom
from reference.ir.types import ElementType

_RANKS = (0,) * 8 + (1,) * 40 + (2,) * 22 + (3,) * 13 + (4,) * 8 + (5,) * 6 + (6,) * 2 + (7,)
_RANKS_FROM = tuple(tuple(rank for rank in _RANKS if rank >= least) for least in (0, 1, 2))
"""Ranks to choose from, by the least rank permitted."""

SMALL, WITH_ONE, THRESHOLD, EMPTY = "small", "with 1", "threshold", "with 0"
_KINDS = (SMALL,) * 32 + (WITH_ONE,) * 2 + (THRESHOLD,) * 15

_THRESHOLDS = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
_LINES = (11, 12, 13, 19, 23, 29, 47, 100, 200, 500, 511, 512, 513) * 3 + (1023, 1024, 1025) * 3
_HUGE = (8191, 8192, 8193)

# By rank, the last entry for every higher rank. In order of size, so that shrinking finds the
# smallest failing size.
_SIZES = (
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
    tuple(sorted(_THRESHOLDS * 12 + _LINES + _HUGE * 2)),
    _THRESHOLDS,
    _THRESHOLDS[:9],
    (8, 9, 31, 32, 33, 63, 64, 65),
    (8, 9, 16, 17, 31, 32, 33),
)


def _row_of_rank(rank: int, table: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return table[min(rank, len(table) - 1)]


def shape(pick: Pick, *, min_rank: int = 0, empty: str = EMPTY) -> tuple[int, ...]:
    """Return a static shape of at least `min_rank` dimensions (`min_rank` is at most 1).

    Most have at most 64 elements, some about 1,000, one in 200 about 8,000. `empty` is the label of
    the value with a size of 0: its usual label hides other values (`EMPTINESS`). The shape that
    `pick` was given is used first, if it has enough dimensions.
    """
    if pick.shape is not None and len(pick.shape) >= min_rank:
        given, pick.shape = pick.shape, None
        return given
    rank = choose(pick, _RANKS_FROM[min_rank], "rank", rank_label)
    if rank == 0:
        return ()
    kind = choose(pick, (*_KINDS, empty, empty, empty), "sizes")
    sizes = [choose(pick, _row_of_rank(rank, _SIZES)) for _ in range(rank)]
    if kind == THRESHOLD:
        sizes[pick(rank)] = choose(pick, _row_of_rank(rank, _STRETCHED))
    elif kind != SMALL:
        sizes[pick(rank)] = 1 if kind == WITH_ONE else 0
    return tuple(sizes)


def axis(pick: Pick, rank: int, dimension: str) -> int:
    """Return a dimension of a tensor of that rank (1 or more): the first, the last, or any."""
    kinds = ("first",) * 2 + ("last",) * 2 * (rank > 1) + ("inner",) * 2 * (rank > 2)
    kind = choose(pick, kinds, dimension)
    if kind == "inner":
        return 1 + pick(rank - 2)
    return 0 if kind == "first" else rank - 1


LARGE_TYPES = ("f32", "f64", "f16", "bf16", "si32", "si8", "i1", "complex<f32>", "f8E4M3FN")
"""Element types with special kernels in compilers."""


def is_large(pick: Pick, element_type: ElementType) -> bool:
    """Return whether a case gets operands of some thousand elements, for which kernels differ.

    Only types in `LARGE_TYPES` do.
    """
    return element_type.name in LARGE_TYPES and seldom(pick, 60, "large")


FEW = 24
"""Maximum number of elements that the reference processes sequentially."""


def limit_elements(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes, with the largest reduced until there are at most `FEW` elements."""
    cut = tuple(sizes)
    while math.prod(cut) > FEW:
        cut = tuple(min(size, max(cut) - 1) for size in cut)
    return cut


def size_label(size: int) -> str:
    """Return the kind of a size: empty, 1, small, at a threshold of kernels, large."""
    if size < 2:
        return "1" if size else "empty"
    return "small" if size < 31 else "threshold" if size < 1000 else "large"


def step_label(number: int) -> str:
    """Return the kind of a stride or a dilation: 1, or more."""
    return "1" if number == 1 else "more"


def sizes_label(sizes: tuple[int, ...]) -> str:
    """Return the kind of several sizes, such as batch sizes: none, empty, 1, one, several."""
    if 0 in sizes:
        return "empty"
    if not sizes:
        return "none"
    return "several" if len(sizes) > 1 else "1" if sizes == (1,) else "one"


def capped_label(most: int) -> Callable[[int], str]:
    """Return a function that labels numbers; all numbers from `most` on get the same label.

    Call it once, when a module is loaded: labels are cached by their function.
    """

    def label(number: int) -> str:
        return str(number) if number < most else f"{most} or more"

    return label


_counted = capped_label(4)


def rank_label(rank: int) -> str:
    """Return the label of a rank in a dimension of variation."""
    return _counted(rank) if rank else SCALAR

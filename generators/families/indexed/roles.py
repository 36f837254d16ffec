"""Addressing by gathers and scatters: the role of every dimension, chosen by `Pick`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import FEW, is_large, rank_label
from generators.families.data_movement import INDEX_TYPES, draw_part, index_label, permutation
from reference.ir.types import ELEMENT_TYPES, ElementType

Shape = tuple[int, ...]
Dims = tuple[int, ...]

_RANKS = (1,) * 6 + (2,) * 8 + (3,) * 8 + (4,) * 4 + (5, 6, 0)
SIZES = (1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7)
_STRETCHED = (8, 9, 16, 17, 31, 32, 33, 127, 128, 129, 255, 256, 257)
BATCHES = (1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 9)
_COMMON = tuple(
    ELEMENT_TYPES[name]
    for name in ("si32", "si64", "si32", "si64", "ui8", "ui32", "si8", "si16", "ui64", "ui16")
)
LARGEST = 4096
"""Largest number of elements of a result; larger sizes are reduced."""


@dataclass(frozen=True, slots=True)
class Access:
    """The addressing of a tensor of `shape` by a gather or a scatter, chosen role by role.

    Every dimension of the tensor is a slice dimension (in `kept`), a dropped dimension of size 1
    (`dropped`), or paired with an index dimension (`batching`). `batch` has the sizes of the
    indices' dimensions except for the index vector, `paired` the indices of those paired with
    batching dimensions; `mapped` are the dimensions that index vectors address, `vector_dim` is the
    position of index vectors.
    """

    shape: Shape
    kept: Dims
    dropped: Dims
    batching: Dims
    batch: Shape
    paired: Dims
    mapped: Dims
    vector_dim: int
    sizes: Shape

    @property
    def implicit(self) -> bool:
        """Whether the indices are scalars instead of vectors."""
        return self.vector_dim == len(self.batch) and len(self.mapped) == 1

    def indices_shape(self, *, implicit: bool) -> Shape:
        """Return the shape of the indices."""
        if implicit:
            return self.batch
        return (*self.batch[: self.vector_dim], len(self.mapped), *self.batch[self.vector_dim :])

    def paired_dims(self, *, implicit: bool) -> Dims:
        """Return the dimensions of the indices that are paired with batching dimensions."""
        return tuple(d + (not implicit and d >= self.vector_dim) for d in self.paired)

    def limits(self) -> list[int]:
        """Return for each component of an index vector the last index at which a slice fits."""
        return [self.shape[d] - self.sizes[d] for d in self.mapped]


def access(pick: Pick, element_type: ElementType, *, batching: bool = True) -> Access:
    """Choose an addressing: mostly small sizes, every role for every dimension, any vector
    position."""
    if is_large(pick, element_type):
        return _LARGE
    rank = choose(pick, _RANKS, "rank", rank_label)
    sizes = [choose(pick, SIZES) for _ in range(rank)]
    able_roles = ("keep", "drop", "keep", "batch" if batching else "drop")
    roles = [choose(pick, able_roles, "role of a dimension") for _ in sizes]
    if rank and seldom(pick, 4, "sizes stretched"):
        at = pick(rank)
        sizes[at] = choose(pick, _STRETCHED)
        if choose(pick, ("some",) * 14 + ("empty",), "stretched to") == "empty":
            sizes[at] = 0
        if sizes[at] == 0 and roles[at] == "drop":
            roles[at] = "keep"  # a slice of size 0 cannot be dropped: it has no element
    kept, dropped, paired = (
        tuple(d for d in range(rank) if roles[d] == role) for role in ("keep", "drop", "batch")
    )
    free = batches(pick)
    order = permutation(pick, len(paired) + len(free))
    pool = [*(sizes[d] for d in paired), *free]
    batch = tuple(pool[n] for n in order)
    places = tuple(order.index(n) for n in range(len(paired)))
    able = [d for d in range(rank) if d not in paired]
    mapped = tuple(able[n] for n in permutation(pick, len(able)))
    if mapped and seldom(pick, 3, "some dimensions not indexed"):
        mapped = mapped[: pick(len(mapped))]
    slices = tuple(
        draw_part(pick, sizes[d], "slice size") if d in kept else min(1, sizes[d])
        for d in range(rank)
    )
    vector_dim = len(batch)
    if batch and seldom(pick, 2, "index vector not last"):
        vector_dim = pick(len(batch))
    return _limit_slices(
        Access(tuple(sizes), kept, dropped, paired, batch, places, mapped, vector_dim, slices)
    )


_LARGE = Access((70, 64), (1,), (0,), (), (40, 3), (), (0,), 2, (1, 64))
"""The addressing of a large operand: some rows of a table of embeddings."""


def batches(pick: Pick) -> list[int]:
    """Return sizes of up to two index dimensions that are not paired."""
    count = choose(pick, (0, 1, 2), "free index dimensions")
    if count and choose(pick, ("some",) * 11 + ("empty",), "indices") == "empty":
        return [0] + [choose(pick, BATCHES) for _ in range(count - 1)]
    return [choose(pick, BATCHES) for _ in range(count)]


def limit_slices(chosen: Access) -> Access:
    """Return the addressing with at most two slices per dimension, and few elements in total."""
    shape = tuple(min(n, 2) if d in chosen.batching else n for d, n in enumerate(chosen.shape))
    sizes = tuple(map(min, chosen.sizes, shape))
    batch = tuple(min(size, 2) for size in chosen.batch)
    return _limit_slices(replace(chosen, shape=shape, sizes=sizes, batch=batch), FEW)


def _limit_slices(chosen: Access, most: int = LARGEST) -> Access:
    """Return the addressing with slices of size 1 if there would be too many elements."""
    window = math.prod(chosen.sizes[d] for d in chosen.kept)
    if math.prod(chosen.batch) * window <= most:
        return chosen
    return replace(chosen, sizes=tuple(min(size, 1) for size in chosen.sizes))


def index_profiles(chosen: Access, *, far: bool = True) -> tuple[str, ...]:
    """Return profiles of indices: in range, at its ends, near it and (`far`) of all sizes."""
    limits = chosen.limits() or [0]
    low, high = max(min(limits), 0), max(limits)
    inside = (f"within:0:{high}", f"within:0:{low}", f"values:{high}", "values:0")
    if not far:
        return inside
    return (*inside, f"within:0:{high}", f"within:-3:{high + 3}", "special", "small_integers")


def index_type(pick: Pick, chosen: Access) -> ElementType:
    """Choose an index type: mostly a type that can hold all sizes, sometimes any type."""
    wide = tuple(of for of in _COMMON if of.max_integer > max(chosen.shape, default=0))
    return choose(
        pick, INDEX_TYPES if seldom(pick, 10) else wide, "index type", index_label, paired=False
    )


def explicit(vectors: Sequence[Sequence[int]], chosen: Access, *, implicit: bool) -> str:
    """Return the profile of given index vectors: a vector per batch element, row-major."""
    width = len(chosen.mapped)
    if implicit:
        return "values:" + ",".join(str(vector[0]) for vector in vectors)
    inner = math.prod(chosen.batch[chosen.vector_dim :])
    flat: list[int] = []
    for start in range(0, len(vectors), max(inner, 1)):
        block = vectors[start : start + inner]
        flat += [vector[k] for k in range(width) for vector in block]
    return "values:" + ",".join(map(str, flat))

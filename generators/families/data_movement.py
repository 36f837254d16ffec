"""Cases of the ops of reference/ops/data_movement.py.

The functions that choose attributes also serve generators/families/dynamism.py, where they become
operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import axis, capped_label, shape
from generators.programs.building import Builder, case
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import ElementType
from reference.ops.data_movement_types import padded_shape

Shape = tuple[int, ...]

LARGEST = 1 << 14
"""Largest number of elements of a result; larger sizes are reduced."""

INDEX_TYPES = tuple(
    TYPES[name]
    for name in (
        "si64", "si32", "ui8", "ui32", "si8", "ui64", "si16", "ui16", "si4", "ui4", "si2", "ui2",
    )
)  # fmt: skip
"""Types that indices and sizes may have, as operands."""


def index_label(element_type: ElementType) -> str:
    """Return an index type's label in a dimension of variation; narrow types share one label."""
    if element_type.bits >= 32:
        return element_type.name
    if element_type.bits < 8:
        return "2 or 4 bits"
    return f"{'signed' if element_type.is_signed else 'unsigned'}, 8 or 16 bits"


_MOVED = frozenset({"small_integers", "special", "bits", "mixed", "wide", "subnormal"})
_count_label = capped_label(3)

_STRIDES = ("1",) * 8 + ("2",) * 4 + ("3",) * 3 + ("4", "5", "7", "size", "beyond", "33 bits")


def contents(element_type: ElementType) -> tuple[str, ...]:
    """Return the profiles for data that is only moved: bits matter, values do not."""
    return tuple(name for name in profiles_of(element_type) if name in _MOVED)


def rows(element_type: ElementType, *more: ProfileRow, times: int = 1) -> tuple[ProfileRow, ...]:
    """Return rows of `times` data operands of a type, then operands with combined profiles."""
    return tuple(
        (*(name,) * times, *row) for row in more or ((),) for name in contents(element_type)
    )


def limit_sizes(sizes: Sequence[int]) -> Shape:
    """Return the sizes, with large sizes replaced if there would be too many elements."""
    return tuple(sizes) if math.prod(sizes) <= LARGEST else tuple(min(size, 3) for size in sizes)


def permutation(pick: Pick, count: int) -> tuple[int, ...]:
    """Return a permutation of 0 to count - 1; the identity is the simplest."""
    rest = list(range(count))
    return tuple(rest.pop(pick(len(rest))) for _ in range(count))


_PARTS = ("1", "all", "all", "all but 1", "all but 1", "few", "few", "any", "empty")


def draw_part(pick: Pick, size: int, dimension: str = "part") -> int:
    """Return a number from 0 to `size`: 1, all, all but one, few, any, none."""
    if size == 0:
        return 0
    kind = choose(pick, _PARTS, dimension)
    if kind == "few":
        return min(size, 2 + pick(2))
    sizes = {"1": 1, "all": size, "all but 1": size - 1, "any": 1 + pick(size), "empty": 0}
    return sizes[kind]


# --- Broadcasts ----------------------------------------------------------------------------------


class Broadcast(NamedTuple):
    """A broadcast: the shapes of operand and result, and the dimensions of the operand in the
    result."""

    before: Shape
    after: Shape
    dimensions: tuple[int, ...]


def broadcast(pick: Pick) -> Broadcast:
    """Choose a broadcast: dimensions of size 1 stretched or not, new dimensions, in any order."""
    before = list(shape(pick))
    if before and seldom(pick, 2, "stretches"):
        before[pick(len(before))] = 1
    rank = len(before) + choose(pick, (0, 1, 1, 2, 3), "new dimensions")
    order = permutation(pick, rank)[: len(before)]
    dimensions = order if seldom(pick, 3, "out of order") else tuple(sorted(order))
    new = choose(pick, ("small",) * 4 + ("empty", "threshold"), "new sizes")
    sizes = {"small": (2, 1, 3, 4), "empty": (0, 2), "threshold": (33, 1, 2)}[new]
    after = [sizes[0], *(choose(pick, sizes) for _ in range(rank - 1))][:rank]
    for size, d in zip(before, dimensions, strict=True):
        if size != 1 or pick(3) == 0:
            after[d] = size
    if math.prod(after) > LARGEST:
        new = [d for d in range(rank) if d not in dimensions]
        after = [1 if d in new else after[d] for d in range(rank)]
    if math.prod(after) > LARGEST:
        return Broadcast((1,) * len(before), (2,) * rank, dimensions)
    return Broadcast(tuple(before), tuple(after), dimensions)


def _broadcast_in_dim(op: str, element_type: ElementType, pick: Pick) -> Case:
    found = broadcast(pick)
    operand, result = TensorType(found.before, element_type), TensorType(found.after, element_type)
    given = {"broadcast_dimensions": found.dimensions}
    return case(pick, op, {"operand": operand}, (result,), rows(element_type), dict(given))


def _broadcast(op: str, element_type: ElementType, pick: Pick) -> Case:
    before = shape(pick)
    count = choose(pick, (1, 0, 2, 3), "new dimensions")
    new = choose(pick, ("small",) * 4 + ("empty", "threshold"), "new sizes") if count else "small"
    sizes = {"small": (2, 1, 3, 5), "empty": (0, 2), "threshold": (32, 1, 2)}[new]
    sizes = [sizes[0], *(choose(pick, sizes) for _ in range(count - 1))][:count]
    if math.prod((*sizes, *before)) > LARGEST:
        sizes, before = sizes[:1], limit_sizes(tuple(min(size, 9) for size in before))
    operand, result = TensorType(before, element_type), TensorType((*sizes, *before), element_type)
    given: dict[str, Attribute] = {"broadcast_sizes": tuple(sizes)}
    return case(pick, op, {"operand": operand}, (result,), rows(element_type), given)


# --- Concatenation -------------------------------------------------------------------------------


def _concatenate(op: str, element_type: ElementType, pick: Pick) -> Case:
    first = limit_sizes(shape(pick, min_rank=1))
    dimension = axis(pick, len(first), "dimension")
    along = [first[dimension]]
    for _ in range(choose(pick, (1, 0, 1, 2, 2, 3, 4, 7), "more inputs")):
        size = choose(pick, ("the same", "1", "0", "other", "other", "other"), "size of another")
        sizes = {"the same": (first[dimension],), "1": (1,), "0": (0,), "other": (2, 3, 4, 8, 17)}
        along.append(choose(pick, sizes[size]))
    if math.prod(first) // max(first[dimension], 1) * sum(along) > LARGEST:
        first = tuple(min(size, 3) for size in first)
        along = [min(size, 3) for size in along]
    operands = {
        f"inputs{index}": TensorType(_resize_dimension(first, dimension, size), element_type)
        for index, size in enumerate(along)
    }
    result = TensorType(_resize_dimension(first, dimension, sum(along)), element_type)
    given = {"dimension": dimension}
    mixed = rows(element_type, times=len(along))
    return case(pick, op, operands, (result,), mixed, dict(given), related=True)


def _resize_dimension(given: Shape, dimension: int, size: int) -> Shape:
    return (*given[:dimension], size, *given[dimension + 1 :])


# --- Slices --------------------------------------------------------------------------------------


class Window(NamedTuple):
    """Start, limit and stride in every dimension, and the sizes that they leave."""

    start: tuple[int, ...]
    limit: tuple[int, ...]
    strides: tuple[int, ...]
    sizes: Shape


def window(pick: Pick, sizes: Shape) -> Window:
    """Choose a window of `slice`: from all elements to none."""
    parts: list[tuple[int, int, int, int]] = []
    for size in sizes:
        start, rest = 0, size
        if size:
            first = choose(pick, ("0", "0", "0", "small", "small", "any"), "start")
            start = {"0": 0, "small": min(1 + pick(2), size - 1), "any": pick(size)}[first]
            rest = draw_part(pick, size - start, "limit")
        stride = choose(pick, _STRIDES, "stride", _stride_label)
        step = {"size": max(size, 1), "beyond": size + 1, "33 bits": 1 << 33}.get(stride, 0)
        step = step or int(stride)
        parts.append((start, start + rest, step, -(-rest // step)))
    start, limit, strides, left = zip(*parts, strict=True) if parts else ((), (), (), ())
    return Window(start, limit, strides, left)


def _stride_label(stride: str) -> str:
    return "3 to 7" if stride in ("3", "4", "5", "7") else stride


def _slice(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    found = window(pick, operand.static_shape)
    given = {
        "start_indices": found.start,
        "limit_indices": found.limit,
        "strides": found.strides,
    }
    return case(
        pick,
        op,
        {"operand": operand},
        (TensorType(found.sizes, element_type),),
        rows(element_type),
        dict(given),
    )


def _indices(
    pick: Pick, room: Sequence[int]
) -> tuple[dict[str, TensorType], tuple[ProfileRow, ...]]:
    """Return the types of the start indices of a slice, and rows of their profiles.

    `room` has the largest index at which the slice fits, for each dimension. Indices are within it,
    equal to it, near it, or arbitrary.
    """
    of = choose(pick, INDEX_TYPES, "index type", index_label)
    if of.is_signed and max(room, default=0) > of.max_integer and pick(8) < 7:
        of = INDEX_TYPES[0]  # XLA:CPU may otherwise write out of bounds, into other programs' data
    index = TensorType((), of)
    patterns = (
        tuple(f"within:0:{space}" for space in room),
        tuple(f"values:{space}" for space in room),
        tuple(f"within:-2:{space + 2}" for space in room),
        ("bits",) * len(room),
        ("special",) * len(room),
    )
    return {f"start_indices{d}": index for d in range(len(room))}, patterns


def _constants(pick: Pick, indices: dict[str, TensorType]) -> tuple[str, ...]:
    """Return the start indices that are always constants: all or none.

    With constants, compilers turn the op into a static slice.
    """
    return tuple(indices) if seldom(pick, 3, "start indices are all constants") else ()


def _dynamic_slice(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    sizes = tuple(draw_part(pick, size) for size in operand.static_shape)
    room = [size - taken for size, taken in zip(operand.static_shape, sizes, strict=True)]
    indices, patterns = _indices(pick, room)
    types = {"operand": operand, **indices}
    result = TensorType(sizes, element_type)
    given: dict[str, Attribute] = {"slice_sizes": sizes}
    profiles, constants = rows(element_type, *patterns), _constants(pick, indices)
    return case(pick, op, types, (result,), profiles, given, constants=constants)


def _dynamic_update_slice(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    update = TensorType(tuple(draw_part(pick, size) for size in operand.static_shape), element_type)
    pairs = zip(operand.static_shape, update.static_shape, strict=True)
    indices, patterns = _indices(pick, [size - taken for size, taken in pairs])
    types = {"operand": operand, "update": update, **indices}
    profiles, constants = rows(element_type, *patterns, times=2), _constants(pick, indices)
    return case(pick, op, types, (operand,), profiles, constants=constants)


# --- Padding -------------------------------------------------------------------------------------


class Padding(NamedTuple):
    """Edge padding at both ends, padding between elements, and the shape that these give."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    sizes: Shape


def padding(pick: Pick, sizes: Shape, *, negative: bool = True) -> Padding:
    """Choose a padding; negative amounts crop, at most everything."""
    signs = ("0", "more", "more", "more", "less", "less") if negative else ("0", "more", "more")
    amounts = {"0": (0,), "more": (1, 2, 3, 5, 32 if negative else 4), "less": (-1, -1, -2, -3)}
    parts: list[tuple[int, int, int]] = []
    for size in sizes:
        interior = choose(pick, (0, 0, 1, 2, 3), "interior")
        low = choose(pick, amounts[choose(pick, signs, "low")])
        high = choose(pick, amounts[choose(pick, signs, "high")])
        spread = size + max(size - 1, 0) * interior
        if negative and choose(pick, ("some",) * 30 + ("empty",), "left") == "empty":
            low, high = (low, -spread - low) if pick(2) else (-spread - high, high)
        elif spread + low + high < 1:
            low, high = _less_cut(low, high, spread + low + high)
        if spread + low + high > LARGEST:
            low, high, interior = 0, 0, 0
        parts.append((low, high, interior))
    low, high, interior = zip(*parts, strict=True) if parts else ((), (), ())
    padded = tuple(size or 0 for size in padded_shape(sizes, low, high, interior))
    if math.prod(padded) > LARGEST:
        none = (0,) * len(sizes)
        return Padding(none, none, none, sizes)
    return Padding(low, high, interior, padded)


def _less_cut(low: int, high: int, left: int) -> tuple[int, int]:
    """Return negative padding reduced to leave one element if it would leave none."""
    missing = 1 - left
    given_back = min(max(-low, 0), missing)
    return low + given_back, high + missing - given_back


def _pad(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand, value = TensorType(shape(pick), element_type), TensorType((), element_type)
    found = padding(pick, operand.static_shape)
    given = {
        "edge_padding_low": found.low,
        "edge_padding_high": found.high,
        "interior_padding": found.interior,
    }
    types, result = (
        {"operand": operand, "padding_value": value},
        TensorType(found.sizes, element_type),
    )
    return case(pick, op, types, (result,), rows(element_type, times=2), dict(given))


# --- Other views of the same elements ------------------------------------------------------------


def other_shape(pick: Pick, sizes: Shape) -> Shape:
    """Return another shape with the same number of elements: merged, split, extended, or new."""
    count = math.prod(sizes)
    form = choose(pick, ("flat", "ones", "merged", "in another order", "split"), "made anew")
    if form == "flat":
        return (count,)
    if form == "ones":  # dimensions of size 1 are added and removed
        kept = [size for size in sizes if size != 1]
        for _ in range(pick(3)):
            kept.insert(pick(len(kept) + 1), 1)
        return tuple(kept)
    if form == "merged" and len(sizes) > 1:  # two neighbours are merged
        at = pick(len(sizes) - 1)
        return (*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :])
    if count == 0:
        found = [choose(pick, (1, 2, 3, 0)) for _ in range(pick(4))]
        found.insert(pick(len(found) + 1), 0)
        return tuple(found)
    if form == "in another order":
        return tuple(sizes[d] for d in permutation(pick, len(sizes)))
    found: list[int] = []
    for _ in range(pick(4)):
        divisors = [d for d in range(1, min(count, 64) + 1) if count % d == 0]
        found.append(divisors[pick(len(divisors))])
        count //= found[-1]
    return (*found, count)


def _reshape(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    result = TensorType(other_shape(pick, operand.static_shape), element_type)
    return case(pick, op, {"operand": operand}, (result,), rows(element_type))


def _reverse(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    count = choose(pick, range(operand.rank + 1), "dimensions reversed", _count_label)
    dimensions = permutation(pick, operand.rank)[:count]
    given = {"dimensions": dimensions[::-1] if pick(2) else dimensions}
    return case(pick, op, {"operand": operand}, (operand,), rows(element_type), dict(given))


def _transpose(op: str, element_type: ElementType, pick: Pick) -> Case:
    before = shape(pick, min_rank=0)
    order = tuple(range(len(before)))
    if len(order) > 1:
        kind = choose(pick, _ORDERS, "permutation")
        order = order[::-1] if kind == "reversed" else _draw_permutation(pick, order, kind)
    result = TensorType(tuple(before[d] for d in order), element_type)
    types = {"operand": TensorType(before, element_type)}
    return case(pick, op, types, (result,), rows(element_type), {"permutation": order})


_ORDERS = ("last two", "identity", "reversed", "rotated", "any", "any", "any")


def _draw_permutation(pick: Pick, order: tuple[int, ...], kind: str) -> tuple[int, ...]:
    if kind == "last two":
        return (*order[:-2], order[-1], order[-2])
    if kind == "rotated":
        return (*order[1:], order[0])
    return order if kind == "identity" else permutation(pick, len(order))


_BUILD = {
    "broadcast": _broadcast,
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}

BUILDERS: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""The builder of each op's cases."""

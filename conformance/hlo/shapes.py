"""Types and layouts of HLO's shapes, and the order of elements in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.hlo.protos import Shape
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TensorType, TokenType, Value, ValueType
from reference.ir.types import ELEMENT_TYPES, Array, ElementType

Tree = Value | tuple["Tree", ...]
"""The value of an instruction: one value, or a tree for each element of a tuple."""

TUPLE, OPAQUE, TOKEN, BUFFER = 13, 14, 17, 34
_COMBINE = -(1 << 63)
"""A size in a tile that merges this dimension with the next dimension."""

_NAMES = {
    1: "i1", 2: "si8", 3: "si16", 4: "si32", 5: "si64", 6: "ui8", 7: "ui16", 8: "ui32", 9: "ui64",
    10: "f16", 11: "f32", 12: "f64", 15: "complex<f32>", 16: "bf16", 18: "complex<f64>",
    19: "f8E5M2", 20: "f8E4M3FN", 21: "si4", 22: "ui4", 23: "f8E4M3B11FNUZ", 24: "f8E5M2FNUZ",
    25: "f8E4M3FNUZ", 26: "si2", 27: "ui2", 28: "f8E4M3", 29: "f8E3M4", 32: "f4E2M1FN",
    33: "f8E8M0FNU", 35: "f6E3M2FN", 36: "f6E2M3FN",
}  # fmt: skip
"""Element types by the number that XLA's PrimitiveType gives them."""

_OTHERS = {OPAQUE: "opaque", 30: "s1", 31: "u1", BUFFER: "buffer"}


def element_of(shape: Shape) -> ElementType:
    """Return the element type of an array's shape.

    Raises:
        Unreadable: when the reference has no such type.
    """
    name = _NAMES.get(shape.element_type)
    if name is None:
        spelled = _OTHERS.get(shape.element_type, str(shape.element_type))
        raise Unreadable(f"type {spelled}", "the reference has no such element type")
    return ELEMENT_TYPES[name]


def array_type_of(shape: Shape) -> TensorType:
    """Return the type of an array; dynamic sizes are None and have bounds."""
    element = element_of(shape)
    if not any(shape.is_dynamic_dimension):
        return TensorType(tuple(shape.dimensions), element)
    pairs = list(zip(shape.dimensions, shape.is_dynamic_dimension, strict=True))
    sizes = tuple(None if dynamic else size for size, dynamic in pairs)
    return TensorType(sizes, element, tuple(size if dynamic else None for size, dynamic in pairs))


def type_of(shape: Shape) -> ValueType:
    """Return the type of a shape that is not a tuple."""
    return TokenType() if shape.element_type == TOKEN else array_type_of(shape)


def leaf_types(shape: Shape) -> Iterator[ValueType]:
    """Yield the types of an array or token, or of all parts of a tuple, in order."""
    if shape.element_type != TUPLE:
        yield type_of(shape)
        return
    for part in shape.tuple_shapes:
        yield from leaf_types(part)


def leaves(tree: Tree) -> Iterator[Value]:
    """Yield the values of a tree in order."""
    if isinstance(tree, Value):
        yield tree
        return
    for part in tree:
        yield from leaves(part)


def tree_of(shape: Shape, values: Iterator[Value]) -> Tree:
    """Return the tree of a shape, whose values come from an iterator in order."""
    if shape.element_type != TUPLE:
        return next(values)
    return tuple(tree_of(part, values) for part in shape.tuple_shapes)


def major_to_minor(shape: Shape) -> tuple[int, ...]:
    """Return the dimensions in the order of memory, the slowest first."""
    rank = len(shape.dimensions)
    layout = shape.layout
    if layout is None or len(layout.minor_to_major) != rank:
        return tuple(range(rank))
    return tuple(reversed(layout.minor_to_major))


def is_tiled(shape: Shape) -> bool:
    """Return whether the layout of an array has tiles."""
    return shape.layout is not None and bool(shape.layout.tiles)


def offsets(shape: Shape) -> Array:
    """Return the position in memory of every element, as an array of the shape's sizes.

    Source: XLA documentation, "Tiled layout".
    """
    sizes = tuple(shape.dimensions)
    order = major_to_minor(shape)
    where = [np.arange(sizes[d]).reshape([-1 if e == d else 1 for e in range(len(sizes))])
             for d in order]  # fmt: skip
    spans = [sizes[d] for d in order]
    for tile in shape.layout.tiles if shape.layout else ():
        where, spans = _cut_into_tiles(where, spans, tile.dimensions)
    position = np.zeros(sizes, np.int64)
    for index, span in zip(where, spans, strict=True):
        position = position * span + index
    return np.broadcast_to(position, sizes)


def _cut_into_tiles(
    where: list[Array], spans: list[int], tile: list[int]
) -> tuple[list[Array], list[int]]:
    """Return indices and sizes of dimensions after the last dimensions are cut into tiles."""
    missing = max(0, len(tile) - len(spans))
    where, spans = [np.zeros((), np.int64)] * missing + where, [1] * missing + spans
    outer = len(spans) - len(tile)
    kept, sizes = where[:outer], spans[:outer]
    tiled, tiles = list[Array](), list[int]()
    carried: tuple[Array, int] | None = None
    for index, span, size in zip(where[outer:], spans[outer:], tile, strict=True):
        if carried is not None:
            index, span = carried[0] * span + index, carried[1] * span
        carried = (index, span) if size == _COMBINE else None
        if carried is None:
            tiled.append(index)
            tiles.append(size)
            sizes.append(span)
    grid = [index // size for index, size in zip(tiled, tiles, strict=True)]
    inner = [index % size for index, size in zip(tiled, tiles, strict=True)]
    counts = [-(-span // size) for span, size in zip(sizes[outer:], tiles, strict=True)]
    return [*kept, *grid, *inner], [*sizes[:outer], *counts, *tiles]


def order_of(source: Shape, target: Shape, held: int = 1, wanted: int = 1) -> Array:
    """Return for each unit of `target`'s elements, row-major, the unit of `source` in its memory.

    An element of the source is `held` units wide, an element of the target `wanted`. Units are
    numbered as elements are, row-major; -1 stands for padding of the source, which holds anything.
    """
    there, here = _units(source, held), _units(target, wanted)
    extent = 1 + max(int(there.max(initial=-1)), int(here.max(initial=-1)))
    table = np.full(extent, -1, np.int64)
    table[there] = np.arange(there.size)
    return table[here]


def _units(shape: Shape, width: int) -> Array:
    """Return the position in memory of every unit of every element, row-major."""
    begun = offsets(shape).reshape(-1, 1) * width
    return (begun + np.arange(width)).ravel()

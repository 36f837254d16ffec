"""Elements in the padding of tiles, which a device computes as it computes all of memory.

A TPU's tiles may be larger than an array. A bitcast to another shape can put elements where the new
shape has padding. Operations on elements compute the padding, too, and a later bitcast makes it
elements again. Such values are read in the shape of their tiles, without padding.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from conformance.hlo import elementwise
from conformance.hlo.building import Building
from conformance.hlo.protos import Shape
from conformance.hlo.shapes import Tree, major_to_minor, offsets
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TensorType, Value, tensor_of

_PASSING = ("bitcast", "call", "fusion", "get-tuple-element", "tuple")
"""Opcodes of operations, besides elementwise operations, that accept operands with elements in
padding.
"""


def whole_tiles(shape: Shape) -> Shape | None:
    """Return the shape with sizes of whole tiles, at the same positions in memory; None if the
    layout has none.
    """
    tiles = shape.layout.tiles if shape.layout else []
    order = major_to_minor(shape)
    if not tiles or len(tiles[0].dimensions) > len(order):
        return None
    sizes = list(shape.dimensions)
    for dimension, size in zip(reversed(order), reversed(tiles[0].dimensions), strict=False):
        if size < 1:  # merged with the next dimension
            return None
        sizes[dimension] = -(-sizes[dimension] // size) * size
    wide = replace(shape, dimensions=sizes)
    places = offsets(wide)
    same = places[tuple(slice(size) for size in shape.dimensions)]
    is_dense = np.array_equal(np.sort(places, axis=None), np.arange(math.prod(sizes)))
    return wide if is_dense and np.array_equal(same, offsets(shape)) else None


def is_padded(tree: Tree, shape: Shape) -> bool:
    """Return whether a value, or a part of a tuple, has the sizes of whole tiles, although its
    shape states others.
    """
    if not isinstance(tree, Value):
        return any(map(is_padded, tree, shape.tuple_shapes))
    of, sizes = tree.type, tuple(shape.dimensions)
    if not isinstance(of, TensorType) or not of.is_static or of.shape == sizes:
        return False
    wide = whole_tiles(shape)
    return wide is not None and of.shape == tuple(wide.dimensions)


def pad_to_tiles(site: Site) -> Site:
    """Return an instruction in the shapes of whole tiles if an operand has elements in padding.

    Raises:
        Unreadable: when the meaning of the instruction in padding is not known.
    """
    pairs = list(zip(site.operands, site.shapes, strict=True))
    opcode = site.instruction.opcode
    if opcode in _PASSING or not any(is_padded(*pair) for pair in pairs):
        return site
    if opcode not in elementwise.HANDLERS:
        raise Unreadable("opcode bitcast", f"elements in the padding of tiles go into {opcode}")
    wide = [whole_tiles(one) for one in (site.instruction.shape, *site.shapes)]
    result, *shapes = [one for one in wide if one is not None]
    if len(shapes) < len(pairs) or any(one.dimensions != result.dimensions for one in shapes):
        raise Unreadable("opcode bitcast", f"{opcode} has tiles of several sizes")
    operands = tuple(
        one if is_padded(one, shape) else _fill(site.building, one, tuple(result.dimensions))
        for one, shape in pairs
    )
    instruction = replace(site.instruction, shape=result)
    return replace(site, instruction=instruction, operands=operands, shapes=tuple(shapes))


def _fill(building: Building, tree: Tree, sizes: tuple[int, ...]) -> Value:
    """Return a broadcast scalar in larger sizes.

    Raises:
        Unreadable: when the value is no broadcast scalar: nothing says what its padding holds.
    """
    for operation in building.operations:
        if operation.name == "broadcast_in_dim" and tree in operation.results:
            (scalar,) = operation.operands
            if not tensor_of(scalar).shape:
                of = TensorType(sizes, tensor_of(scalar).element_type)
                return building.one("broadcast_in_dim", (scalar,), of, broadcast_dimensions=())
    raise Unreadable("opcode bitcast", "nothing says what is in the padding of tiles")


def stated_shape(tree: Tree, shape: Shape) -> Shape:
    """Return the shape of a value: in whole tiles if that is how it is read."""
    wide = whole_tiles(shape) if is_padded(tree, shape) else None
    return shape if wide is None else wide

"""Instructions that create, move, select and relabel elements."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from conformance.hlo.building import Building
from conformance.hlo.literals import dense_of
from conformance.hlo.padding import stated_shape, whole_tiles
from conformance.hlo.protos import Shape
from conformance.hlo.shapes import (
    Tree,
    array_type_of,
    element_of,
    is_tiled,
    major_to_minor,
    order_of,
)
from conformance.hlo.site import Handler, Site
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, Array, ElementType


def _constant(site: Site) -> Tree:
    literal = site.instruction.literal
    if literal is None:
        raise site.unreadable("its elements are left out")
    return site.building.constant(dense_of(literal))


def _iota(site: Site) -> Tree:
    return site.building.one("iota", (), site.type, iota_dimension=site.instruction.dimensions[0])


def _broadcast(site: Site) -> Tree:
    return site.building.one(
        "broadcast_in_dim", (site.converted_operand(0),), site.type,
        broadcast_dimensions=tuple(site.instruction.dimensions),
    )  # fmt: skip


def _reshape(site: Site) -> Tree:
    return site.building.one("reshape", (site.converted_operand(0),), site.type)


def _transpose(site: Site) -> Tree:
    permutation = tuple(site.instruction.dimensions)
    return site.building.one(
        "transpose", (site.converted_operand(0),), site.type, permutation=permutation
    )


def _reverse(site: Site) -> Tree:
    dimensions = tuple(site.instruction.dimensions)
    return site.building.one(
        "reverse", (site.converted_operand(0),), site.type, dimensions=dimensions
    )


def _concatenate(site: Site) -> Tree:
    dimension = site.instruction.dimensions[0]
    parts = [site.converted_operand(number) for number in range(len(site.operands))]
    return site.building.one("concatenate", parts, site.type, dimension=dimension)


def _slice(site: Site) -> Tree:
    limits = site.instruction.slice_dimensions
    return site.building.one(
        "slice", (site.converted_operand(0),), site.type,
        start_indices=tuple(limit.start for limit in limits),
        limit_indices=tuple(limit.limit for limit in limits),
        strides=tuple(limit.stride or 1 for limit in limits),
    )  # fmt: skip


def _starts(site: Site, first: int) -> tuple[Value, ...]:
    """Return start indices as scalars; older modules have them in a single operand."""
    given = tuple(site.value(number) for number in range(first, len(site.operands)))
    if len(given) != 1 or not tensor_of(given[0]).rank:
        return given
    count = tensor_of(given[0]).static_shape[0]
    building = site.building
    single = (building.slice(given[0], (at,), (at + 1,)) for at in range(count))
    return tuple(building.reshape(one, ()) for one in single)


def _dynamic_slice(site: Site) -> Tree:
    return site.building.one(
        "dynamic_slice", (site.converted_operand(0), *_starts(site, 1)), site.type,
        slice_sizes=tuple(site.instruction.dynamic_slice_sizes),
    )  # fmt: skip


def _dynamic_update_slice(site: Site) -> Tree:
    operands = (site.converted_operand(0), site.converted_operand(1), *_starts(site, 2))
    return site.building.one("dynamic_update_slice", operands, site.type)


def _pad(site: Site) -> Tree:
    config = site.instruction.padding_config
    dimensions = config.dimensions if config else []
    return site.building.one(
        "pad", (site.converted_operand(0), site.converted_operand(1)), site.type,
        edge_padding_low=tuple(dimension.edge_padding_low for dimension in dimensions),
        edge_padding_high=tuple(dimension.edge_padding_high for dimension in dimensions),
        interior_padding=tuple(dimension.interior_padding for dimension in dimensions),
    )  # fmt: skip


def _gather(site: Site) -> Tree:
    numbers = site.instruction.gather_dimension_numbers
    if numbers is None:
        raise site.unreadable("it has no dimension numbers")
    return site.building.one(
        "gather", (site.converted_operand(0), site.value(1)), site.type,
        offset_dims=tuple(numbers.offset_dims),
        collapsed_slice_dims=tuple(numbers.collapsed_slice_dims),
        operand_batching_dims=tuple(numbers.operand_batching_dims),
        start_indices_batching_dims=tuple(numbers.start_indices_batching_dims),
        start_index_map=tuple(numbers.start_index_map),
        index_vector_dim=numbers.index_vector_dim,
        slice_sizes=tuple(site.instruction.gather_slice_sizes),
        indices_are_sorted=site.instruction.indices_are_sorted,
    )  # fmt: skip


def _get_dimension_size(site: Site) -> Tree:
    return site.building.one(
        "get_dimension_size", (site.value(0),), site.type,
        dimension=site.instruction.dimensions[0],
    )  # fmt: skip


def _set_dimension_size(site: Site) -> Tree:
    return site.building.one(
        "set_dimension_size", (site.value(0), site.value(1)), site.type,
        dimension=site.instruction.dimensions[0],
    )  # fmt: skip


def _dynamic_reshape(site: Site) -> Tree:
    building = site.building
    one, scalar = TensorType((1,), ELEMENT_TYPES["si32"]), len(site.operands) - 1
    sizes = [
        building.one("reshape", (building.convert(site.value(d + 1), one.element),), one)
        for d in range(scalar)
    ]
    shape = TensorType((scalar,), one.element)
    joined = building.one("concatenate", sizes, shape, dimension=0)
    return building.one("dynamic_reshape", (site.value(0), joined), site.type)


def _bitcast_convert(site: Site) -> Tree:
    """Add a bitcast; a sub-byte type counts as a byte wide here."""
    if site.type.shape == tensor_of(site.value(0)).shape:
        return reinterpret(site.building, site.value(0), site.type.element)
    return site.building.one("bitcast_convert", (site.value(0),), site.type)


def _bitcast(site: Site) -> Tree:
    """Add an operation that reinterprets memory in another layout or type."""
    value, target = site.value(0), site.instruction.shape
    source = stated_shape(value, site.shapes[0])
    if any(source.is_dynamic_dimension) or any(target.is_dynamic_dimension):
        if source.dimensions == target.dimensions:
            return value
        raise site.unreadable("it changes dynamic sizes")
    building = site.building
    own, wanted = array_type_of(source).element, array_type_of(target).element
    held, given = storage_bits(source), storage_bits(target)
    if own.is_complex != wanted.is_complex:
        return _reinterpret_width(building, value, source, target)
    if own == wanted or held == given:  # how narrow types are packed is left to code generation
        return reinterpret_layout(building, reinterpret(building, value, wanted), source, target)
    return _reinterpret_width(building, value, source, target)


def storage_bits(shape: Shape) -> int:
    """Return the number of bits of an element in memory: at least a byte if elements are not
    packed.
    """
    stated = shape.layout.element_size_in_bits if shape.layout else 0
    return stated or max(8, element_of(shape).bits)


def reinterpret(building: Building, value: Value, element: ElementType) -> Value:
    """Return the same bits as elements of another type of the same width in memory."""
    own = tensor_of(value).element
    if own == element:
        return value
    if own.bits == element.bits:
        return building.bitcast(value, element)
    if own.is_boolean:  # a byte, 0 or 1
        return reinterpret(building, building.convert(value, ELEMENT_TYPES["ui8"]), element)
    if element.is_boolean:
        zero = building.full(0, TensorType(tensor_of(value).shape, ELEMENT_TYPES["ui8"]))
        return building.compare("NE", building.bitcast(value, ELEMENT_TYPES["ui8"]), zero)
    byte = ELEMENT_TYPES["ui8"]
    if own.name in _SIX_BITS:
        return reinterpret(building, _code_of_six_bits(building, value), element)
    if element.name in _SIX_BITS:
        return _decode_six_bits(building, reinterpret(building, value, byte), element)
    narrow = own if own.bits < element.bits else element
    code = ELEMENT_TYPES.get(f"ui{narrow.bits}")
    if code is None:
        raise Unreadable(f"bits of {narrow.name}", "no integer type has as many")
    if own is narrow:
        return reinterpret(building, building.convert(building.bitcast(value, code), byte), element)
    return building.bitcast(building.convert(reinterpret(building, value, byte), code), element)


_SIX_BITS = {"f6E3M2FN": (12, 2), "f6E2M3FN": (14, 3)}
"""Powers of two between a 6-bit number and the f16 number with the same exponent bits, and bits of
its significand.
"""


def _code_of_six_bits(building: Building, value: Value) -> Value:
    """Return the bits of 6-bit numbers as bytes, through f16: no integer type has six bits."""
    of = tensor_of(value)
    power, digits = _SIX_BITS[of.element.name]
    wide = building.convert(value, ELEMENT_TYPES["f16"])
    scale = building.full(2.0**-power, tensor_of(wide))
    bits = building.bitcast(building.binary("multiply", wide, scale), ELEMENT_TYPES["ui16"])
    kind = tensor_of(bits)
    shifted = building.binary("shift_right_logical", bits, building.full(10 - digits, kind))
    size = building.binary("and", shifted, building.full(0x1F, kind))
    top = building.binary("shift_right_logical", bits, building.full(15, kind))
    sign = building.binary("shift_left", top, building.full(5, kind))
    return building.convert(building.binary("or", size, sign), ELEMENT_TYPES["ui8"])


def _decode_six_bits(building: Building, code: Value, element: ElementType) -> Value:
    """Return the 6-bit numbers whose bits are in bytes."""
    power, digits = _SIX_BITS[element.name]
    bits = building.convert(code, ELEMENT_TYPES["ui16"])
    kind = tensor_of(bits)
    size = building.binary("and", bits, building.full(0x1F, kind))
    low = building.binary("shift_left", size, building.full(10 - digits, kind))
    top = building.binary("and", bits, building.full(0x20, kind))
    sign = building.binary("shift_left", top, building.full(10, kind))
    wide = building.bitcast(building.binary("or", low, sign), ELEMENT_TYPES["f16"])
    scale = building.full(2.0**power, tensor_of(wide))
    return building.convert(building.binary("multiply", wide, scale), element)


def _reinterpret_width(building: Building, value: Value, source: Shape, target: Shape) -> Value:
    """Return the memory of `value` reinterpreted as elements of another width.

    Both are read as units of the narrower width. Several units make an element of the wider width.
    """
    held, given = storage_bits(source), storage_bits(target)
    unit = ELEMENT_TYPES[f"ui{min(held, given)}"]
    count = math.prod(source.dimensions)
    flat = _split_into_units(building, building.reshape(value, (count,)), held, unit)
    order = order_of(source, target, held // unit.bits, given // unit.bits)
    units = building.take_elements(flat, order.tolist(), (order.size,))
    elements = _join_units(building, units, given // unit.bits, element_of(target))
    return building.reshape(elements, tuple(target.dimensions))


def _split_into_units(building: Building, flat: Value, held: int, unit: ElementType) -> Value:
    """Return a flat array's bits as a flat array of units, with one or several units per
    element.
    """
    (count,) = tensor_of(flat).static_shape
    if tensor_of(flat).element.is_complex:
        parts, half = _parts_of_complex(building, flat), held // 2
        if half >= unit.bits:
            return _split_into_units(building, parts, half, unit)
        words = reinterpret(building, parts, ELEMENT_TYPES[f"ui{half}"])
        return _join_units(building, words, 2, unit)
    if held == unit.bits:
        return reinterpret(building, flat, unit)
    parts = TensorType((count, held // unit.bits), unit)
    return building.reshape(
        building.one("bitcast_convert", (flat,), parts), (count * (held // unit.bits),)
    )


def _parts_of_complex(building: Building, flat: Value) -> Value:
    """Return the parts of complex numbers as memory has them: real, imaginary, real, ..."""
    (count,) = tensor_of(flat).static_shape
    part = tensor_of(flat).element.part
    columns = [
        building.reshape(building.one(name, (flat,), TensorType((count,), part)), (count, 1))
        for name in ("real", "imag")
    ]
    rows = building.one("concatenate", columns, TensorType((count, 2), part), dimension=1)
    return building.reshape(rows, (2 * count,))


def _complex_of_parts(building: Building, parts: Value, element: ElementType) -> Value:
    """Return the complex numbers of a flat tensor that alternates real and imaginary parts."""
    count = tensor_of(parts).static_shape[0] // 2
    rows = building.reshape(parts, (count, 2))
    columns = [
        building.reshape(building.slice(rows, (0, at), (count, at + 1)), (count,)) for at in (0, 1)
    ]
    return building.one("complex", columns, TensorType((count,), element))


def _join_units(building: Building, units: Value, width: int, element: ElementType) -> Value:
    """Return units joined to elements of `width` units."""
    if element.is_complex:
        own, part = tensor_of(units).element, element.part
        if part.bits < own.bits:
            words = _split_into_units(building, units, own.bits, ELEMENT_TYPES[f"ui{part.bits}"])
            parts = reinterpret(building, words, part)
        else:
            parts = _join_units(building, units, width // 2, part)
        return _complex_of_parts(building, parts, element)
    if width == 1:
        return reinterpret(building, units, element)
    count = tensor_of(units).static_shape[0] // width
    pairs = building.reshape(units, (count, width))
    return building.one("bitcast_convert", (pairs,), TensorType((count,), element))


def reinterpret_layout(building: Building, value: Value, source: Shape, target: Shape) -> Value:
    """Return the memory of `value`, in one shape's layout, reinterpreted in another shape's layout.

    A reshape where elements stay in order, else a transposition of memory's dimensions, else each
    element by its number. Padding of the source, where tiles leave some, reads as zero.

    Raises:
        Unreadable: when elements are in the padding of the target. A device computes with padding,
            and may have it back as elements afterwards.
    """
    sizes, wanted = tuple(source.dimensions), tuple(target.dimensions)
    if is_tiled(source) or is_tiled(target):
        order = order_of(source, target)
        if order.size == math.prod(sizes) and np.array_equal(order, np.arange(order.size)):
            return building.reshape(value, wanted)
        plain = order_of(_remove_tiles(source), _remove_tiles(target))
        if order.size != math.prod(sizes) or not np.array_equal(order, plain):
            if order.size == math.prod(sizes) and (order < 0).any():
                wanted, order = _take_padding(source, target)
            flat = building.reshape(value, (math.prod(sizes),))
            return building.take_elements(flat, order.tolist(), wanted)
    held, given = major_to_minor(source), major_to_minor(target)
    if sizes == wanted and held == given:
        return value
    memory = building.reshape(building.transpose(value, held), tuple(wanted[d] for d in given))
    return building.transpose(memory, tuple(np.argsort(given).tolist()))


def _take_padding(source: Shape, target: Shape) -> tuple[tuple[int, ...], Array]:
    """Return sizes of the target in whole tiles, and for each element there the source's."""
    wide = whole_tiles(target)
    order = np.empty(0, np.int64) if wide is None else order_of(source, wide)
    if wide is None or np.unique(order[order >= 0]).size < math.prod(source.dimensions):
        raise Unreadable("opcode bitcast", "elements are in padding that no tile has")
    return tuple(wide.dimensions), order


def _remove_tiles(shape: Shape) -> Shape:
    assert shape.layout is not None
    return replace(shape, layout=replace(shape.layout, tiles=[]))


HANDLERS: dict[str, Handler] = {
    "bitcast": _bitcast,
    "bitcast-convert": _bitcast_convert,
    "broadcast": _broadcast,
    "concatenate": _concatenate,
    "constant": _constant,
    "dynamic-reshape": _dynamic_reshape,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "get-dimension-size": _get_dimension_size,
    "iota": _iota,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "set-dimension-size": _set_dimension_size,
    "slice": _slice,
    "transpose": _transpose,
}
"""The function that reads each opcode."""

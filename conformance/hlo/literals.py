"""Constants of HLO modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.hlo.protos import Literal, Shape
from conformance.hlo.shapes import TUPLE, array_type_of, element_of, major_to_minor
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import Dense
from reference.ir.types import Array, ElementType, bits_dtype, from_bits

_MASK = (1 << 64) - 1

_LISTS: dict[str, Callable[[Literal], list[int]]] = {
    "i1": lambda one: one.preds, "si32": lambda one: one.s32s, "si64": lambda one: one.s64s,
    "ui32": lambda one: one.u32s, "ui64": lambda one: one.u64s,
}  # fmt: skip
"""Functions that return the elements of a type whose literals are stored as numbers."""

_BYTES: dict[str, Callable[[Literal], bytes]] = {
    "si2": lambda one: one.s2s, "si4": lambda one: one.s4s, "si8": lambda one: one.s8s,
    "si16": lambda one: one.s16s, "ui2": lambda one: one.u2s, "ui4": lambda one: one.u4s,
    "ui8": lambda one: one.u8s, "ui16": lambda one: one.u16s, "f16": lambda one: one.f16s,
    "bf16": lambda one: one.bf16s, "f32": lambda one: one.f32s, "f64": lambda one: one.f64s,
    "complex<f32>": lambda one: one.c64s, "complex<f64>": lambda one: one.c128s,
    "f4E2M1FN": lambda one: one.f4e2m1fns, "f8E3M4": lambda one: one.f8e3m4s,
    "f8E4M3": lambda one: one.f8e4m3s, "f8E4M3FN": lambda one: one.f8e4m3fns,
    "f8E4M3FNUZ": lambda one: one.f8e4m3fnuzs, "f8E4M3B11FNUZ": lambda one: one.f8e4m3b11fnuzs,
    "f8E5M2": lambda one: one.f8e5m2s, "f8E5M2FNUZ": lambda one: one.f8e5m2fnuzs,
    "f8E8M0FNU": lambda one: one.f8e8m0fnus, "f6E3M2FN": lambda one: one.f6e3m2fns,
    "f6E2M3FN": lambda one: one.f6e2m3fns,
}  # fmt: skip
"""Functions that return the bytes of a type whose literals are stored as bytes, little-endian."""


def array_of(literal: Literal) -> Array:
    """Return the elements of a constant.

    Raises:
        Unreadable: when it is not an array, or not complete.
    """
    shape = literal.shape
    if shape is None or shape.element_type == TUPLE:
        raise Unreadable("constant tuple", "only constant arrays can be read")
    element = element_of(shape)
    order = major_to_minor(shape)
    sizes = tuple(shape.dimensions[d] for d in order)
    bits = _bits(literal, element, int(np.prod(sizes)))
    pairs = (2,) if element.is_complex else ()
    back = (*np.argsort(order).tolist(), *([len(order)] if pairs else ()))
    return from_bits(bits.reshape(sizes + pairs).transpose(back), element)


def dense_of(literal: Literal) -> Dense:
    """Return a literal as a constant of a program."""
    array = array_of(literal)
    shape = literal.shape or Shape()
    return Dense.of(array, array_type_of(shape))


def _bits(literal: Literal, element: ElementType, count: int) -> Array:
    """Return the bits of all elements, in the order of memory."""
    of: Any = bits_dtype(element).newbyteorder("<")
    if element.name in _LISTS:
        mask = _MASK if element.bits == 64 else (1 << max(8, element.bits)) - 1
        found = np.array([value & mask for value in _LISTS[element.name](literal)], of)
    else:
        data = _BYTES[element.name](literal)
        packed = np.frombuffer(data, np.uint8) if element.bits < 8 else None
        found = (
            np.frombuffer(data, of) if packed is None else _unpack_elements(packed, element, count)
        )
    if found.size != count * (2 if element.is_complex else 1):
        raise Unreadable("constant", f"it has {found.size} of {count} elements")
    return found


def _unpack_elements(data: Array, element: ElementType, count: int) -> Array:
    """Return sub-byte elements, each in its own byte, from packed bytes."""
    if data.size == count and count > 1:
        return data
    each = 8 // element.bits
    shifts = np.arange(each, dtype=np.uint8) * np.uint8(element.bits)
    return ((data[:, None] >> shifts) & np.uint8((1 << element.bits) - 1)).ravel()[:count]

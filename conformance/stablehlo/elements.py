"""The elements of MLIR's dense attributes, as arrays and back, exact in every bit."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from packaging.version import Version

from reference.ir.program import TensorType
from reference.ir.types import Array, ElementType, bits_dtype, element_type_of, from_bits

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d[\d.]*(?:[eE][+-]?\d+)?|true|false")
_DENSE = re.compile(r'dense<("0x[0-9A-F]*"|[^>"]*)>')
_EIGHT_IN_A_BYTE = Version(version("jaxlib")) < Version("0.10")
"""Whether MLIR keeps eight booleans in a byte; arrays of them that it returns have freed memory."""


def array_of(attribute: Any, tensor_type: TensorType, spelled: str = "") -> Array | None:
    """Return the elements of a dense attribute of this type; None for another attribute.

    `spelled` is the printed form of the attribute or of its operation, if known: jaxlib has no
    class for dense attributes of complex elements.
    """
    element = tensor_type.element
    if isinstance(attribute, ir.DenseElementsAttr):
        if element.bits == 1 and _EIGHT_IN_A_BYTE:
            values: Any = ir.DenseIntElementsAttr(attribute)
            return np.array(list(values), bool).reshape(tensor_type.static_shape)
        if element.storage.kind in "biuf" and element.bits in (1, 8, 16, 32, 64):
            native = np.asarray(attribute) if element.storage.isbuiltin == 1 else None
            if native is not None:
                return native.astype(element.storage, copy=False)
        spelled = spelled or str(attribute)
    found = _DENSE.search(spelled)
    return None if found is None else _elements(found[1], tensor_type)


def attribute_of(array: Array) -> ir.DenseElementsAttr:
    """Return a dense attribute of these elements, in the active context and location.

    Raises:
        KeyError: when no element type is stored in arrays of this kind.
        ValueError: when the elements are complex.
    """
    element = ir.Type.parse(element_type_of(array).mlir)
    tensor = ir.RankedTensorType.get(array.shape, element)
    get: Any = ir.DenseElementsAttr.get  # its stub does not know of arrays with a type
    if _EIGHT_IN_A_BYTE and array.dtype == np.bool_:
        return get(np.packbits(array, bitorder="little"), type=tensor)
    return get(np.ascontiguousarray(array), type=tensor)


def _elements(body: str, tensor_type: TensorType) -> Array:
    """Return the elements of a dense literal as MLIR prints it.

    MLIR prints a decimal only if it reads back as the same bits, and hexadecimal bits otherwise: so
    reading it as float64 and rounding to the element type is exact.
    """
    element, shape = tensor_type.element, tensor_type.static_shape
    parts = (2,) if element.is_complex else ()
    if body.startswith('"'):
        raw = np.frombuffer(bytes.fromhex(body[3:-1]), bits_dtype(element).newbyteorder("<"))
        return from_bits(np.reshape(raw, shape + parts), element)
    numbers = _NUMBER.findall(body)
    bits = np.array([_code(text, element) for text in numbers], bits_dtype(element))
    bits = bits.reshape(-1, *parts)
    if len(bits) == 1:
        return np.broadcast_to(from_bits(bits[0], element), shape)
    return from_bits(bits.reshape(shape + parts), element)


def _code(text: str, element: ElementType) -> int:
    part = element.part
    if text.startswith("0x"):
        return int(text, 16)
    if not part.is_float:
        return int(text) & ((1 << part.bits) - 1)
    with np.errstate(all="ignore"):  # subnormal results are meant
        value = np.asarray(np.float64(text)).astype(part.storage)
    return int(value.view(bits_dtype(part)))

"""Element types of near misses of quantized products: dot_general and the convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reference.ir.program import QuantizedType
from reference.ir.types import ELEMENT_TYPES, ElementType

F16, F32, F64 = (ELEMENT_TYPES[name] for name in ("f16", "f32", "f64"))
Element = ElementType | QuantizedType


class Ids(NamedTuple):
    """The ids of the constraints on quantized operands, which differ between the ops."""

    roles: str
    storage: str
    expressed: str
    granularity: str
    hybrid: str


class Axes(NamedTuple):
    """The dimensions that may be quantized per axis, with their sizes."""

    lhs: tuple[int, int]
    rhs: tuple[int, int]
    result: tuple[int, int]


Typed = tuple[str, Element, Element, Element]
"""An id, and the element types of lhs, rhs and result that violate it."""


def quantized_type(
    storage: str = "si8",
    expressed: ElementType = F32,
    *,
    axis: tuple[int, int] | None = None,
    point: int = 0,
) -> QuantizedType:
    """Return a quantized type; per axis if a dimension and its size are given."""
    element_type = ELEMENT_TYPES[storage]
    count = 1 if axis is None else axis[1]
    return QuantizedType(
        element_type, element_type.min_integer, element_type.max_integer, expressed,
        (0.5,) * count, (point,) * count, None if axis is None else axis[0],
    )  # fmt: skip


def mistyped_operands(ids: Ids, axes: Axes) -> Iterator[Typed]:
    """Yield types of lhs, rhs and result that violate a single constraint."""
    of, other = quantized_type(), quantized_type(point=3)
    yield "I1", quantized_type(axis=axes.lhs), of, of
    # hybrid: only rhs is quantized
    yield ids.roles, of, F32, of
    yield ids.roles, other, of, F32
    yield ids.roles, F32, of, of
    yield ids.roles, F32, F32, of
    yield ids.roles, of, F32, F32
    yield ids.storage, quantized_type("si16"), of, of
    yield ids.storage, of, quantized_type("si4"), of
    yield ids.storage, quantized_type("ui8"), of, quantized_type("ui8")
    yield ids.expressed, quantized_type(expressed=F64), of, of
    yield ids.expressed, of, quantized_type(expressed=F64), of
    yield ids.expressed, of, of, quantized_type(expressed=F16)
    yield ids.granularity, of, of, quantized_type(axis=axes.result)
    yield ids.hybrid, F64, of, F64
    yield ids.hybrid, F32, quantized_type(expressed=F16), F32
    yield ids.hybrid, F32, of, F64

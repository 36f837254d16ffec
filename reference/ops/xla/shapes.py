"""Shapes as XlaBuilder takes them: an element type and sizes."""

from __future__ import annotations

from typing import NamedTuple

from reference.ir.program import TensorType
from reference.ir.types import element_type


class Shape(NamedTuple):
    """The shape of an array: the name of its element type, and its dimension sizes."""

    element_type: str
    dimensions: tuple[int, ...]


def shape_of(of: TensorType) -> Shape:
    """Return a tensor type as a shape."""
    return Shape(of.element.name, of.static_shape)


def type_of(shape: Shape) -> TensorType:
    """Return a shape as a tensor type.

    Raises:
        KeyError: if there is no such element type.
    """
    return TensorType(shape.dimensions, element_type(shape.element_type))

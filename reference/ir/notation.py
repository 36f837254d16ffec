"""Functions of the specification's chapter "Notation", which constraints are written with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from reference.ir.program import QuantizedType, TensorType, ValueType
from reference.ir.types import ALL, ElementType, Kind


class QuantizedTensors(Enum):
    """The quantized tensors that an input admits: none, per tensor, or also per axis."""

    NONE = "none"
    PER_TENSOR = "per-tensor quantized tensors"
    ANY = "quantized tensors"


@dataclass(frozen=True, slots=True)
class AdmittedTensors:
    """The tensors that an input admits, from the tables "Inputs" of the specification."""

    kinds: frozenset[Kind]
    quantized: QuantizedTensors = QuantizedTensors.NONE

    def __contains__(self, given: ValueType) -> bool:
        if not isinstance(given, TensorType):
            return False
        element_type = given.element_type
        if isinstance(element_type, QuantizedType):
            if self.quantized is QuantizedTensors.PER_TENSOR:
                return element_type.quantization_dimension is None
            return self.quantized is QuantizedTensors.ANY
        return element_type.kind in self.kinds

    @property
    def element_types(self) -> tuple[ElementType, ...]:
        """The element types, in the specification's order, without quantized types."""
        return tuple(of for of in ALL if of.kind in self.kinds)


def admit(*kinds: Kind, quantized: QuantizedTensors = QuantizedTensors.NONE) -> AdmittedTensors:
    """Return the tensors of these kinds of element type, and these quantized tensors."""
    return AdmittedTensors(frozenset(kinds), quantized)


def is_quantized(given: ValueType) -> bool:
    """Return whether a type is a quantized tensor type."""
    return isinstance(given, TensorType) and isinstance(given.element_type, QuantizedType)


def quantized_element(given: ValueType) -> QuantizedType | None:
    """Return the element type of a quantized tensor type, or None for any other type."""
    if isinstance(given, TensorType) and isinstance(given.element_type, QuantizedType):
        return given.element_type
    return None


def is_complex(given: ValueType) -> bool:
    """Return whether a type is a tensor type with complex elements."""
    return (
        isinstance(given, TensorType)
        and isinstance(given.element_type, ElementType)
        and given.element_type.is_complex
    )


def baseline_element_type(given: ValueType) -> ElementType | QuantizedType | None:
    """Return the element type with default quantization parameters; None for non-tensors.

    Types with the same baseline may differ in scales and zero points.
    """
    if not isinstance(given, TensorType):
        return None
    element_type = given.element_type
    if isinstance(element_type, QuantizedType):
        count = len(element_type.scales)
        return replace(element_type, scales=(1.0,) * count, zero_points=(0,) * count)
    return element_type


def same_shape(*given: ValueType) -> bool:
    """Return whether these are tensor types whose shapes are, or may be at run time, the same.

    A dimension of unknown size agrees with every size.
    """
    shapes = [of.shape for of in given if isinstance(of, TensorType)]
    if len(shapes) != len(given) or len({len(shape) for shape in shapes}) > 1:
        return False
    return all(len({size for size in sizes if size is not None}) <= 1 for sizes in zip(*shapes))  # noqa: B905 - ranks are equal


def same_baseline_type(*given: ValueType) -> bool:
    """Return whether all of these types have the same `baseline_type`."""
    first = baseline_element_type(given[0])
    return same_shape(*given) and all(baseline_element_type(of) == first for of in given[1:])


def stated_types(*given: ValueType | None) -> tuple[ValueType, ...]:
    """Return the types that are not None: a result type is checked only if it is stated."""
    return tuple(of for of in given if of is not None)


def merged_shape(given: Iterable[TensorType]) -> tuple[int | None, ...]:
    """Return the common shape of these types; known sizes replace unknown sizes."""
    columns = zip(*(of.shape for of in given), strict=False)
    return tuple(next((size for size in sizes if size is not None), None) for sizes in columns)


def is_promotable(given: ElementType | QuantizedType, to: ElementType | QuantizedType) -> bool:
    """Return whether a type has the same kind as `to` and is not wider, so that its values fit.

    For quantized types, storage types are compared; expressed types must be equal.
    """
    if isinstance(given, QuantizedType) or isinstance(to, QuantizedType):
        if not isinstance(given, QuantizedType) or not isinstance(to, QuantizedType):
            return False
        same_kind = given.expressed_type == to.expressed_type
        return same_kind and given.storage_type.bits <= to.storage_type.bits
    same_kind = given.kind == to.kind or (given.is_integer and to.is_integer)
    return same_kind and given.bits <= to.bits


def is_unique(values: Sequence[int]) -> bool:
    """Return whether no number occurs twice."""
    return len(set(values)) == len(values)


def are_dimensions(dimensions: Sequence[int], rank: int) -> bool:
    """Return whether every number is a dimension of a tensor of that rank."""
    return all(0 <= dimension < rank for dimension in dimensions)


def sizes_agree(one: int | None, other: int | None) -> bool:
    """Return whether two dimension sizes are, or may be at run time, the same."""
    return one is None or other is None or one == other


def join_with_commas(*given: object) -> str:
    """Return types and values as messages show them."""
    return ", ".join(map(str, given))

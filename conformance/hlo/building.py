"""Builder of regions: adds the operations of an HLO computation one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from reference.ir.program import (
    Dense,
    Operation,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
    tensor_of,
)
from reference.ir.types import ELEMENT_TYPES, ElementType

Sizes = tuple[int, ...]


def _numbers() -> Iterator[int]:
    return count()


@dataclass(slots=True)
class Building:
    """The operations of one region so far; all regions of a program share the numbers of names."""

    numbers: Iterator[int] = field(default_factory=_numbers)
    operations: list[Operation] = field(default_factory=list[Operation])

    def value(self, of: ValueType) -> Value:
        """Return a new value of a type."""
        return Value(f"v{next(self.numbers)}", of)

    def add(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[ValueType],
        regions: Sequence[Region] = (),
        **given: Any,
    ) -> tuple[Value, ...]:
        """Add an operation and return its results."""
        results = tuple(map(self.value, types))
        kept = attributes(**{key: value for key, value in given.items() if value is not None})
        self.operations.append(Operation(name, tuple(operands), results, kept, tuple(regions)))
        return results

    def one(
        self,
        name: str,
        operands: Sequence[Value],
        of: ValueType,
        regions: Sequence[Region] = (),
        **given: Any,
    ) -> Value:
        """Add an operation with a single result, and return that result."""
        return self.add(name, operands, (of,), regions, **given)[0]

    def inner(self) -> Building:
        """Return the builder of a region nested in this region."""
        return Building(self.numbers)

    def region(self, arguments: Sequence[Value], results: Sequence[Value]) -> Region:
        """Return the region of the operations so far, which returns these results."""
        ended = (*self.operations, Operation("return", tuple(results)))
        return Region(tuple(arguments), ended)

    def constant(self, dense: Dense) -> Value:
        """Add a constant, and return its value."""
        return self.one("constant", (), dense.type, value=dense)

    def full(self, number: complex | bool, of: TensorType) -> Value:
        """Add a constant with this number in all elements."""
        array = np.full(of.static_shape, number).astype(of.storage)
        return self.constant(Dense.of(array, of))

    def fill_like(self, number: complex, like: Value, element: ElementType | None = None) -> Value:
        """Return an array filled with a number, in the shape of another value whose sizes may be
        dynamic.
        """
        of = tensor_of(like)
        result = TensorType(of.shape, element or of.element_type, of.bounds)
        if of.is_static:
            return self.full(number, result)
        size = TensorType((), ELEMENT_TYPES["si32"])
        single = TensorType((1,), ELEMENT_TYPES["si32"])
        sizes = [
            self.one(
                "reshape", (self.one("get_dimension_size", (like,), size, dimension=d),), single
            )
            for d in range(of.rank)
        ]
        shape = TensorType((of.rank,), size.element_type)
        joined = self.one("concatenate", sizes, shape, dimension=0)
        scalar = self.full(number, TensorType((), result.element_type))
        return self.one(
            "dynamic_broadcast_in_dim", (scalar, joined), result, broadcast_dimensions=()
        )

    def reshape(self, operand: Value, sizes: Sizes) -> Value:
        """Return the operand in another shape."""
        of = tensor_of(operand)
        if of.shape == sizes:
            return operand
        return self.one("reshape", (operand,), TensorType(sizes, of.element_type))

    def transpose(self, operand: Value, permutation: Sizes) -> Value:
        """Return the operand with its dimensions in another order."""
        of = tensor_of(operand)
        if permutation == tuple(range(len(permutation))):
            return operand
        sizes = tuple(of.shape[d] for d in permutation)
        result = TensorType(sizes, of.element_type)
        return self.one("transpose", (operand,), result, permutation=permutation)

    def convert(self, operand: Value, element: ElementType) -> Value:
        """Return the operand's elements as another type."""
        of = tensor_of(operand)
        if of.element_type == element:
            return operand
        return self.one("convert", (operand,), TensorType(of.shape, element, of.bounds))

    def bitcast(self, operand: Value, element: ElementType) -> Value:
        """Return the operand's bits as elements of another type of the same width."""
        of = tensor_of(operand)
        result = TensorType(of.shape, element, of.bounds)
        return self.one("bitcast_convert", (operand,), result)

    def broadcast(self, operand: Value, sizes: Sizes, dimensions: Sizes = ()) -> Value:
        """Return the operand repeated along the dimensions that it does not have."""
        result = TensorType(sizes, tensor_of(operand).element_type)
        return self.one(
            "broadcast_in_dim", (operand,), result, broadcast_dimensions=dimensions
        )  # fmt: skip

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        """Add an operation of two operands whose result is of their type."""
        return self.one(name, (lhs, rhs), lhs.type)

    def unary(self, name: str, operand: Value) -> Value:
        """Add an operation whose result is of its operand's type."""
        return self.one(name, (operand,), operand.type)

    def compare(self, direction: str, lhs: Value, rhs: Value, kind: str | None = None) -> Value:
        """Add an elementwise comparison in a direction, such as LT, and return its result."""
        of = tensor_of(lhs)
        result = TensorType(of.shape, ELEMENT_TYPES["i1"], of.bounds)
        return self.one(
            "compare", (lhs, rhs), result, comparison_direction=direction, compare_type=kind
        )  # fmt: skip

    def slice(self, operand: Value, starts: Sizes, limits: Sizes) -> Value:
        """Return a part of the operand."""
        of = tensor_of(operand)
        sizes = tuple(limit - start for start, limit in zip(starts, limits, strict=True))
        if sizes == of.shape:
            return operand
        return self.one(
            "slice", (operand,), TensorType(sizes, of.element_type),
            start_indices=starts, limit_indices=limits, strides=(1,) * len(sizes),
        )  # fmt: skip

    def take_elements(self, operand: Value, order: Sequence[int], sizes: Sizes) -> Value:
        """Return the elements of a flat operand in this order, in a shape; -1 gives zero."""
        of = tensor_of(operand)
        index = np.asarray(order, np.int64)
        if (index < 0).any():
            zero = self.full(0, TensorType((1,), of.element_type))
            total = of.static_shape[0]
            longer = TensorType((total + 1,), of.element_type)
            operand = self.one("concatenate", (operand, zero), longer, dimension=0)
            index = np.where(index < 0, total, index)
        dense = Dense.of(index[:, None], TensorType((index.size, 1), ELEMENT_TYPES["si64"]))
        flat = self.one(
            "gather", (operand, self.constant(dense)), TensorType((index.size,), of.element_type),
            offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1,
            slice_sizes=(1,), operand_batching_dims=(), start_indices_batching_dims=(),
        )  # fmt: skip
        return self.reshape(flat, sizes)

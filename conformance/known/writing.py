"""Operations that a hypothesis puts in place of others, written one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from reference.ir.program import (
    Attribute,
    Dense,
    Operation,
    Region,
    TensorType,
    Value,
    attributes,
    tensor_of,
)
from reference.ir.types import ELEMENT_TYPES, Array, ElementType

_SIZE = ELEMENT_TYPES["si32"]
"""The element type of dimension sizes."""


def constant(value: Value, array: Array) -> Operation:
    """Return the operation that defines a value by an array."""
    return Operation("constant", (), (value,), attributes(value=Dense.of(array, tensor_of(value))))


@dataclass(frozen=True, slots=True)
class OperationWriter:
    """Writer of operations with one result each, whose names are a prefix and a number."""

    prefix: str
    operations: list[Operation] = field(default_factory=list[Operation])
    """The operations so far."""

    def add(
        self,
        name: str,
        operands: Sequence[Value],
        of: ElementType | None = None,
        shape: Sequence[int | None] | None = None,
        *,
        regions: Sequence[Region] = (),
        **given: Attribute,
    ) -> Value:
        """Add an operation, and return its result.

        Args:
            name: the op.
            operands: the operands.
            of: the element type of the result; by default that of the first operand.
            shape: the shape of the result; by default that of the first operand.
            regions: the regions.
            **given: the attributes.
        """
        sizes = tensor_of(operands[0]).shape if shape is None else tuple(shape)
        element = tensor_of(operands[0]).element_type if of is None else of
        result = self._value(TensorType(sizes, element))
        return self.define(result, name, operands, regions=regions, **given)

    def define(
        self,
        result: Value,
        name: str,
        operands: Sequence[Value],
        *,
        regions: Sequence[Region] = (),
        **given: Attribute,
    ) -> Value:
        """Add the operation that defines a value, and return the value."""
        added = Operation(name, tuple(operands), (result,), attributes(**given), tuple(regions))
        self.operations.append(added)
        return result

    def slice(self, value: Value, starts: Sequence[int], limits: Sequence[int]) -> Value:
        """Add a slice of adjacent elements."""
        sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
        return self.add(
            "slice", (value,), shape=sizes, start_indices=tuple(starts),
            limit_indices=tuple(limits), strides=(1,) * len(sizes),
        )  # fmt: skip

    def constant(self, array: Array, element_type: ElementType) -> Value:
        """Add a constant with the numbers of an array."""
        result = self._value(TensorType(array.shape, element_type))
        self.operations.append(constant(result, array.astype(element_type.storage)))
        return result

    def fill_like(self, like: Value, number: float, element_type: ElementType) -> Value:
        """Add operations that repeat a number in the shape of a value, and return the array.

        Raises:
            ValueError: if a dynamic size of the value has no bound.
        """
        shape, bounds = tensor_of(like).shape, tensor_of(like).bounds
        sizes = [bound if size is None else size for size, bound in zip_longest(shape, bounds)]
        whole = TensorType(tuple(sizes), element_type)
        value = self.constant(np.full(whole.static_shape, number), element_type)
        for dimension in (n for n, size in enumerate(shape) if size is None):
            size = self.add("get_dimension_size", (like,), _SIZE, (), dimension=dimension)
            sizes[dimension] = None
            value = self.add(
                "set_dimension_size", (value, size), element_type, sizes, dimension=dimension
            )
        return value

    def _value(self, of: TensorType) -> Value:
        return Value(f"{self.prefix}.{len(self.operations)}", of)

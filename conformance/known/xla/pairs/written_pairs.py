"""Pairs of f32 written as operations of a program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from conformance.known.xla.memory import constant
from reference.ir.program import Operation, TensorType, Value, attributes, tensor_of
from reference.ir.types import element_type


@dataclass(frozen=True, slots=True)
class PairWriter:
    """Writer of operations on the pair of a value of f64."""

    given: Value
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, name: str, kind: str, *operands: Value) -> Value:
        """Return the result of an operation, of an element type and the shape of the value."""
        value = self._value(kind)
        self.operations.append(Operation(name, operands, (value,)))
        return value

    def fill(self, number: int, kind: str) -> Value:
        """Return a constant whose elements are a number, in the size that the value has.

        Raises:
            ValueError: if a size of the value has no bound.
        """
        of = tensor_of(self.given)
        sizes = [bound if one is None else one for one, bound in zip_longest(of.shape, of.bounds)]
        whole = TensorType(tuple(sizes), element_type(kind))
        value = Value(self._name(), whole)
        self.operations.append(constant(value, np.full(whole.static_shape, number, whole.storage)))
        for dimension in (n for n, size in enumerate(of.shape) if size is None):
            given = attributes(dimension=dimension)
            size = Value(self._name(), TensorType((), element_type("si32")))
            self.operations.append(Operation("get_dimension_size", (self.given,), (size,), given))
            sizes[dimension] = None
            cut = Value(self._name(), replace(whole, shape=tuple(sizes)))
            self.operations.append(Operation("set_dimension_size", (value, size), (cut,), given))
            value = cut
        return value

    def split(self) -> tuple[Value, Value]:
        """Return the numbers of f32, the larger first; the second is 0 beside an infinite one."""
        high = self.add("convert", "f32", self.given)
        rest = self.add("subtract", "f64", self.given, self.add("convert", "f64", high))
        low, zero = self.add("convert", "f32", rest), self.fill(0, "f32")
        return high, self.add("select", "f32", self.add("is_finite", "i1", high), low, zero)

    def _value(self, kind: str) -> Value:
        return Value(self._name(), TensorType(tensor_of(self.given).shape, element_type(kind)))

    def _name(self) -> str:
        return f"{self.given.name}.pair{len(self.operations)}"

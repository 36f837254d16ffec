"""Operations that take the place of an operation, written one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.known.xla.memory import constant
from reference.ir.program import Operation, TensorType, Value, attributes
from reference.ir.types import Array, ElementType


@dataclass(frozen=True, slots=True)
class OperationWriter:
    """Operations, with values named after a result of the operation that they replace."""

    result: Value
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(
        self, name: str, operands: Sequence[Value], shape: Sequence[int], of: ElementType,
        **more: Any,
    ) -> Value:  # fmt: skip
        """Add an operation, and return its result.

        `regions` are its regions, `more` has its attributes.
        """
        made = self._value(shape, of)
        regions = more.pop("regions", ())
        given = attributes(**more)
        self.operations.append(Operation(name, tuple(operands), (made,), given, regions))
        return made

    def constant(self, array: Array, of: ElementType) -> Value:
        """Add a constant with these numbers."""
        made = self._value(array.shape, of)
        self.operations.append(constant(made, array.astype(of.storage)))
        return made

    def _value(self, shape: Sequence[int], of: ElementType) -> Value:
        name = f"{self.result.name}.{len(self.operations)}"
        return Value(name, TensorType(tuple(shape), of))

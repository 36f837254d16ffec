"""One correctly computed operation of a program, from which a faulty operation is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, QuantizedType, TensorType, Value, ValueType
from reference.ir.types import Array, ElementType, element_type_of


@dataclass(frozen=True, slots=True)
class Computation:
    """One operation on tensors, its operands and its right results.

    `program` has the functions that the operation may name. `values` are the values in scope by
    name, which its regions may use. `constant_operand` says
    whether an operand is an embedded constant.
    """

    program: Program
    operation: Operation
    operands: tuple[Array, ...] | None
    results: tuple[Array, ...]
    values: Mapping[str, Any]
    constant_operand: bool = False

    def right(self, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the right results on these operands, of any types.

        Raises:
            EvaluationError: if the operation cannot be evaluated on them.
        """
        if operands is self.operands:
            return self.results
        stated = [value.type for value in self.operation.operands]
        taken = tuple(  # a changed operation may take fewer
            Value(f"operand {index}", _type_of(array, stated[index]))
            for index, array in enumerate(operands)
        )
        around = self.values if self.operation.regions else {}
        return apply(replace(self.operation, operands=taken), operands, around, self.program)

    def replace_fields(self, **changes: Any) -> Computation:
        """Return the same computation with some fields of the operation changed."""
        return replace(self, operation=replace(self.operation, **changes), operands=None)

    def giving(self, element: ElementType) -> Computation:
        """Return the same computation with results of this element type."""
        results = tuple(
            Value(value.name, replace(value.type, element_type=element))
            for value in self.operation.results
            if isinstance(value.type, TensorType)
        )
        return self.replace_fields(results=results)


def _type_of(array: Array, stated: ValueType) -> TensorType:
    """Return the array's own type, or the stated quantized type if it can hold the codes."""
    own = TensorType(array.shape, element_type_of(array))
    if not isinstance(stated, TensorType) or not isinstance(stated.element_type, QuantizedType):
        return own
    return replace(stated, shape=array.shape) if array.dtype == stated.storage else own

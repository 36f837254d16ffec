"""One operation of a program, computed alone: what a faulty operation starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from reference.interpreter.evaluate import evaluate
from reference.ir.program import (
    Function,
    FutureType,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.tokens import TOKEN, Future
from reference.ir.types import Array, ElementType, element_type_of


@dataclass(frozen=True, slots=True)
class Step:
    """One operation about to be computed.

    `values` are those in scope by name, which its regions may use; `constant_operand` says
    whether an operand is an embedded constant.
    """

    operation: Operation
    values: dict[str, Array]
    constant_operand: bool = False

    def right(self, operands: Sequence[Array]) -> tuple[Array, ...]:
        """The right results, on these operands, of whatever types they are."""
        free = _free(self.operation)
        names = [f"operand{number}" for number in range(len(operands))]
        given = {
            **{name: self.values[name] for name in free},
            **dict(zip(names, operands, strict=True)),
        }
        stated = _stated(self.operation) | {
            name: value.type for name, value in zip(names, self.operation.operands, strict=False)
        }
        parameters = {
            name: Value(name, _codes_of(array, stated.get(name)) or _type_of(array))
            for name, array in given.items()
        }
        alone = replace(self.operation, operands=tuple(parameters[name] for name in names))
        body = (alone, Operation("return", alone.results))
        types = tuple(value.type for value in alone.results)
        main = Function("main", Region(tuple(parameters.values()), body), types)
        return evaluate(Program((main,)), list(given.values()))

    def changed(self, **changes: Any) -> Step:
        """The same with the operation changed."""
        return replace(self, operation=replace(self.operation, **changes))

    def giving(self, element: ElementType) -> Step:
        """The same with results of this element type."""
        results = tuple(
            Value(value.name, replace(value.type, element_type=element))
            for value in self.operation.results
            if isinstance(value.type, TensorType)
        )
        return self.changed(results=results)


def _type_of(value: Any) -> ValueType:
    if value is TOKEN:
        return TokenType()
    if isinstance(value, Future):
        return FutureType(tuple(map(_type_of, value.values)))
    if isinstance(value, tuple):
        return TupleType(tuple(map(_type_of, cast("tuple[Any, ...]", value))))
    return TensorType(value.shape, element_type_of(value))


def _codes_of(value: Any, stated: ValueType | None) -> TensorType | None:
    """The quantized type that is stated for a value, if it can hold its codes."""
    if not isinstance(stated, TensorType) or not isinstance(stated.element_type, QuantizedType):
        return None
    fits = isinstance(value, np.ndarray) and value.dtype == stated.storage
    return TensorType(value.shape, stated.element_type) if fits else None


def _stated(operation: Operation) -> dict[str, ValueType]:
    """The types of the values that an operation's regions use."""
    found: dict[str, ValueType] = {}
    for region in operation.regions:
        for inner in region.operations:
            found |= _stated(inner) | {value.name: value.type for value in inner.operands}
    return found


def _free(operation: Operation) -> set[str]:
    """The names that an operation's regions use and do not define."""
    used: set[str] = set()
    defined: set[str] = set()
    for region in operation.regions:
        defined |= {argument.name for argument in region.arguments}
        for inner in region.operations:
            defined |= {value.name for value in inner.results}
            used |= {value.name for value in inner.operands} | _free(inner)
    return used - defined

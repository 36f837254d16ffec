"""One operation of a program alone: as a program of its own, and as the catalog calls its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.transforms.extract import makers_of, shows
from conformance.transforms.inline import free_values
from generators.case.quantized_types import QuantizedColumn
from reference.ir.op import FIRST_OPERAND, Structure
from reference.ir.program import (
    Function,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    Value,
    ValueType,
)
from reference.ir.types import Array
from reference.ops.table import OPS


def hands_on_constants(operation: Operation) -> bool:
    """Whether an operation is a constant, or makes another shape of one.

    Compilers fold these, and so treat otherwise the operations that take them.
    """
    record = OPS.get(operation.name)
    return record is not None and (record.structure is Structure.CONSTANT or record.rearranges)


def alone(
    program: Program,
    operation: Operation,
    values: Mapping[str, Any],
    makers: Mapping[str, int] | None = None,
) -> tuple[Program, tuple[Array, ...]] | None:
    """The operation as a program, and the inputs that make its operands the values given by name.

    What is a constant in the program is one here. None where the values are no plain tensors.
    `makers` are the program's (see `makers_of`), where they are at hand.
    """
    given = {value.name: value for value in operation.operands}
    for region in operation.regions:
        given |= {value.name: value for value in free_values(region)}
    operations = program.main.body.operations
    makers = makers_of(program) if makers is None else makers
    before: dict[str, Operation] = {}
    arguments: dict[str, Value] = {}
    for value in given.values():
        made = _made(value, operations, makers)
        if made is not None:
            before |= made
        elif shows(value) and value.name in values:
            arguments[value.name] = value
        else:
            return None
    if not all(map(shows, operation.results)):
        return None
    end = Operation("return", operation.results)
    body = Region(tuple(arguments.values()), (*before.values(), operation, end))
    types = tuple(value.type for value in operation.results)
    others = (f for f in program.functions if f is not program.main)
    whole = Program((Function("main", body, types), *others))
    return whole, tuple(values[name] for name in arguments)


def _made(
    value: Value, operations: Sequence[Operation], makers: Mapping[str, int]
) -> dict[str, Operation] | None:
    """The operations by their first result, in order, that make a value out of a constant."""
    number = makers.get(value.name)
    maker = None if number is None else operations[number]
    if maker is None or not hands_on_constants(maker):
        return None
    found: dict[str, Operation] = {}
    for operand in maker.operands:
        before = _made(operand, operations, makers)
        if before is None:
            return None
        found |= before
    return found | {maker.results[0].name: maker}


def column(operation: Operation) -> str:
    """The name of the cell's column: the type of the principal operand, or of the output.

    "" where that is no tensor.
    """
    record = OPS.get(operation.name)
    principal = FIRST_OPERAND if record is None else record.principal
    of_results = principal.of_results or not operation.operands
    values = operation.results if of_results else operation.operands
    names = [_name(value.type) for value in values[principal.number :]]
    quantized = sorted((name for name in names if name.startswith("q<")), key=_per_axis_first)
    return next(iter((*quantized, *names)), "")


def _per_axis_first(name: str) -> bool:
    return not name.endswith(":axis>")


def _name(of: ValueType) -> str:
    if not isinstance(of, TensorType):
        return ""
    element = of.element_type
    if not isinstance(element, QuantizedType):
        return element.name
    per_axis = element.quantization_dimension is not None
    return QuantizedColumn(element.storage_type, element.expressed_type, per_axis).name

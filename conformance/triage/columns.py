"""The cell of the catalog that an operation of a program belongs to."""

from __future__ import annotations

from generators.case.quantized_types import QuantizedColumn
from reference.ir.op import FIRST_OPERAND
from reference.ir.program import Operation, QuantizedType, TensorType, ValueType
from reference.ops.table import OPS


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


def _name(value_type: ValueType) -> str:
    if not isinstance(value_type, TensorType):
        return ""
    element = value_type.element_type
    if not isinstance(element, QuantizedType):
        return element.name
    per_axis = element.quantization_dimension is not None
    return QuantizedColumn(element.storage_type, element.expressed_type, per_axis).name

"""Constants, as MLIR has read them."""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.elements import array_of
from conformance.stablehlo.reading.refusal import refusal
from conformance.stablehlo.reading.types import value_type
from reference.ir.program import Dense, QuantizedType, Scalar, TensorType, ValueType
from reference.ir.types import ELEMENT_TYPES, from_mlir

_NUMBERS = ir.BoolAttr, ir.FloatAttr, ir.IntegerAttr
_COMPLEX = re.compile(r"#complex\.number<:\w+ ([^>]*)>")


def constant(operation: ir.Operation) -> Dense:
    """Return the value of a `constant`.

    jaxlib has no class for dense attributes of complex elements: these are read from the text of
    the operation, which is exact.
    """
    of = value_type(operation.results[0].type, operation)
    if not isinstance(of, TensorType):
        raise refusal(operation, f"constants of type {operation.results[0].type} are not read")
    if isinstance(of.element_type, QuantizedType):
        return _codes(operation, of)
    attribute: Any = None if of.element.is_complex else operation.attributes["value"]
    if attribute is None:
        spelled = str(operation.get_asm(print_generic_op_form=True))
    else:
        spelled = "" if isinstance(attribute, ir.DenseElementsAttr) else str(attribute)
    value = dense(attribute, of, spelled)
    if value is None:
        raise refusal(operation, f"constants of this kind are not read: {spelled[:40]}")
    return value


def _codes(operation: ir.Operation, tensor_type: TensorType) -> Dense:
    """Return the value of a quantized `constant`: MLIR has its codes as signless integers."""
    attribute = operation.attributes["value"]
    integers = TensorType(tensor_type.shape, ELEMENT_TYPES[f"si{tensor_type.stored.bits}"])
    value = dense(attribute, integers, str(attribute))
    if value is None:
        raise refusal(operation, f"constants of this kind are not read: {str(attribute)[:40]}")
    return Dense(tensor_type, value.data)


def parse_dense(spelled: str) -> Dense | None:
    """Return the constant that a text spells; None for any other text."""
    try:
        attribute = ir.Attribute.parse(spelled)
    except (ir.MLIRError, TypeError):  # jaxlib has no class for complex elements
        return None
    if not isinstance(attribute, ir.DenseElementsAttr):
        return None
    of = ir.RankedTensorType(attribute.type)
    return dense(attribute, TensorType(tuple(of.shape), from_mlir(str(of.element_type))), spelled)


def scalar(attribute: Any) -> Scalar | None:
    """Return the number of an attribute with a type of its own; None for another attribute."""
    complex_parts = _COMPLEX.match(str(attribute))
    if complex_parts is None and not isinstance(attribute, _NUMBERS):
        return None
    of = TensorType((), from_mlir(str(attribute.type)))
    if complex_parts is None:
        place = ir.Location.unknown(attribute.context)
        tensor = ir.RankedTensorType.get((), attribute.type, loc=place)
        array = array_of(ir.DenseElementsAttr.get_splat(tensor, attribute), of)
    else:
        array = array_of(None, of, f"dense<({complex_parts[1]})>")
    return None if array is None else Scalar.of(array, of)


def dense(attribute: Any, of: ValueType, spelled: str = "") -> Dense | None:
    """Return the constant of an attribute whose text is `spelled`; None for an attribute of another
    kind.
    """
    if not isinstance(of, TensorType):
        return None
    array = array_of(attribute, of, spelled)
    return None if array is None else Dense.of(array, of)

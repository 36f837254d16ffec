"""Cases of the ops of reference/ops/quantization.py."""

from __future__ import annotations

from functools import partial

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.quantized_types import (
    QuantizationParameters,
    QuantizedColumn,
    draw_quantized_type,
)
from generators.case.shapes import shape
from generators.programs.building import Builder, case
from reference.ir.program import QuantizedType, TensorType
from reference.ir.types import ElementType, element_type

_STORAGE = tuple(
    element_type(name)
    for name in ("si8", "ui8", "si4", "ui4", "si16", "ui16", "si32", "ui32", "si2", "ui2")
)
"""Storage types of at most 32 bits: MLIR has no wider types."""

_NUMBERS = (("small_integers",), ("moderate",), ("ties",), ("special",), ("wide",), ("unit",))
_CODES = (("codes",), ("small_integers",), ("unit",))


def _type(
    pick: Pick, parameters: QuantizationParameters, size: tuple[int, ...], *, per_axis: bool = False
) -> QuantizedType:
    fitting = [
        d for d, count in enumerate(size) if count
    ]  # a type without scales cannot be written
    if not fitting or not (per_axis or seldom(pick, 4, "per axis")):
        return draw_quantized_type(parameters, pick)
    axis = fitting[pick(len(fitting))]
    return draw_quantized_type(parameters, pick, axis=axis, size=size[axis])


def _quantize(op: str, element: ElementType, pick: Pick) -> Case:
    """Quantize numbers, per tensor and per axis, to every storage type."""
    size, storage = shape(pick), choose(pick, _STORAGE, "storage type")
    to = _type(pick, QuantizationParameters.draw(storage, element, pick), size)
    result = TensorType(size, to)
    return case(pick, op, {"operand": TensorType(size, element)}, (result,), _NUMBERS)


def _dequantize(op: str, element: ElementType, pick: Pick) -> Case:
    """Dequantize codes, per tensor and per axis, of every storage type."""
    size, storage = shape(pick), choose(pick, _STORAGE, "storage type")
    given = _type(pick, QuantizationParameters.draw(storage, element, pick), size)
    result = TensorType(size, element)
    return case(pick, op, {"operand": TensorType(size, given)}, (result,), _CODES)


def requantize_case(column: QuantizedColumn, pick: Pick) -> Case:
    """Return a `uniform_quantize` of quantized tensors: from the column's type to any other."""
    size = shape(pick, min_rank=int(column.per_axis))
    given = QuantizationParameters.draw(column.storage, column.expressed, pick)
    operand = _type(pick, given, size, per_axis=column.per_axis)
    to = QuantizationParameters.draw(choose(pick, _STORAGE, "to"), column.expressed, pick)
    result = TensorType(size, _type(pick, to, size))
    types = {"operand": TensorType(size, operand)}
    return case(pick, "uniform_quantize", types, (result,), _CODES)


def dequantize_case(column: QuantizedColumn, pick: Pick) -> Case:
    """Return a `uniform_dequantize` of the column's type."""
    size = shape(pick, min_rank=int(column.per_axis))
    given = QuantizationParameters.draw(column.storage, column.expressed, pick)
    operand = TensorType(size, _type(pick, given, size, per_axis=column.per_axis))
    result = TensorType(size, column.expressed)
    return case(pick, "uniform_dequantize", {"operand": operand}, (result,), _CODES)


BUILDERS: dict[str, Builder] = {
    "uniform_dequantize": partial(_dequantize, "uniform_dequantize"),
    "uniform_quantize": partial(_quantize, "uniform_quantize"),
}
"""The builder of each op's cases."""

"""Quantized types in few words, for tests."""

from reference.ir.program import QuantizedType
from reference.ir.types import ELEMENT_TYPES, ElementType

F32 = ELEMENT_TYPES["f32"]


def quant(
    storage: str = "si8",
    *steps: tuple[float, int],
    expressed: ElementType = F32,
    axis: int | None = None,
    bounds: tuple[int, int] | None = None,
) -> QuantizedType:
    """Return a quantized type of these (scale, zero point) pairs."""
    element_type = ELEMENT_TYPES[storage]
    low, high = bounds or (element_type.min_integer, element_type.max_integer)
    steps = steps or ((1.0, 0),)
    scales, points = (tuple(one) for one in zip(*steps, strict=True))
    return QuantizedType(element_type, low, high, expressed, scales, points, axis)

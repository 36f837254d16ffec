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
    of = ELEMENT_TYPES[storage]
    low, high = bounds or (of.min_integer, of.max_integer)
    steps = steps or ((1.0, 0),)
    scales, points = (tuple(one) for one in zip(*steps, strict=True))
    return QuantizedType(of, low, high, expressed, scales, points, axis)

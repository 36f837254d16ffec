"""Quantized element types: the columns of the matrix with such types, and their parameters.

Choice 0 is the simplest: scale 1, zero point 0, all codes of the storage type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generators.case.choices import Pick
from reference.ir.program import QuantizedType
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32 = ELEMENT_TYPES["f32"]


@dataclass(frozen=True, slots=True)
class QuantizedColumn:
    """A column of quantized cells: storage type, expressed type, and whether it is per axis."""

    storage: ElementType
    expressed: ElementType = _F32
    per_axis: bool = False

    @property
    def name(self) -> str:
        """The name in reports and filters: q<si8:f32>, and q<si8:f32:axis> per axis."""
        return f"q<{self.storage}:{self.expressed}{':axis' if self.per_axis else ''}>"

    def __str__(self) -> str:
        return self.name


PER_TENSOR = tuple(QuantizedColumn(ELEMENT_TYPES[name]) for name in ("si4", "si8", "ui8"))
PER_AXIS = QuantizedColumn(ELEMENT_TYPES["si8"], per_axis=True)
QUANTIZED_COLUMNS = {column.name: column for column in (*PER_TENSOR, PER_AXIS)}
"""Every quantized column, by its name."""

_SCALES = (1.0, 0.5, 0.1, 0.0078125, 0.003921568859368563, 0.05, 1.7, 0.25, 2.0)
"""Powers of two, with which codes represent their numbers exactly, and others; 1 / 255 is common,
here rounded to f32."""


@dataclass(frozen=True, slots=True)
class QuantizationParameters:
    """The parameters that quantized types with one baseline share, without the dimension."""

    storage: ElementType
    storage_min: int
    storage_max: int
    expressed: ElementType

    @classmethod
    def draw(
        cls, storage: ElementType, expressed: ElementType, pick: Pick
    ) -> QuantizationParameters:
        """Return parameters with all codes of the storage type.

        One in four has a symmetric or narrower range of codes.
        """
        low, high = storage.min_integer, storage.max_integer
        narrow = pick(8)
        if narrow == 6:
            low += 1
        elif narrow == 7:
            low, high = low // 2, high // 2
        return cls(storage, low, high, expressed)

    def replace_storage(self, storage: ElementType) -> QuantizationParameters:
        """Return the parameters with another storage type and all its codes."""
        low, high = storage.min_integer, storage.max_integer
        return replace(self, storage=storage, storage_min=low, storage_max=high)


def draw_quantized_type(
    parameters: QuantizationParameters,
    pick: Pick,
    *,
    symmetric: bool = False,
    axis: int | None = None,
    size: int = 1,
) -> QuantizedType:
    """Return a quantized type, per axis with `size` scales if `axis` is given.

    If `symmetric`, all zero points are 0, as the specification requires for kernels of
    contractions.
    """
    low, high = parameters.storage_min, parameters.storage_max
    middle = (low + high + 1) // 2
    zeros = [0, low, high, middle, 1, -1, 3]
    fitting = (0,) if symmetric else tuple(z for z in dict.fromkeys(zeros) if low <= z <= high)
    count = size if axis is not None else 1
    form = parameters.expressed.float_format
    steps = tuple(scale for scale in _SCALES if form.smallest <= scale <= form.max_finite)
    first, zero = pick(len(steps)), pick(len(fitting))
    scales = tuple(steps[(first + i) % len(steps)] for i in range(count))
    points = tuple(fitting[(zero + i) % len(fitting)] for i in range(count))
    return QuantizedType(parameters.storage, low, high, parameters.expressed, scales, points, axis)


def move_axis(quantized_type: QuantizedType, axis: int) -> QuantizedType:
    """Return the type with its scales along another dimension."""
    return replace(quantized_type, quantization_dimension=axis)

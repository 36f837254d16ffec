"""Every op that has cases: what builds them, as one table over all families."""

from __future__ import annotations

from generators.families import (
    contraction,
    control_flow,
    convolution,
    data_movement,
    dynamism,
    elementwise,
    fft,
    gathering,
    host,
    linear_algebra,
    normalization,
    quantization,
    random,
    reduction,
    sorting,
)
from generators.programs.building import Builder
from reference.ir.types import ElementType

_FAMILIES = (
    elementwise, data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {
    op: build for family in _FAMILIES for op, build in family.BUILDERS.items()
}
"""What builds the cases of each op."""

ELEMENT_TYPES_OF: dict[str, tuple[ElementType, ...]] = {
    op: types for family in _FAMILIES for op, types in family.ELEMENT_TYPES.items()
}
"""The element types of each op's cells, in the specification's order of types."""


def builder(op: str) -> Builder:
    """The function that builds an op's cases.

    Raises:
        KeyError: when the op has no cases.
    """
    if op not in BUILDERS:
        raise KeyError(f"no cases for op {op!r}; known: {', '.join(BUILDERS)}")
    return BUILDERS[op]

"""Which result types go with an operand's element type."""

from __future__ import annotations

from functools import cache

from reference.ir.types import ALL, ElementType


@cache
def bitcast_results(element_type: ElementType) -> tuple[ElementType, ...]:
    """The element types that a tensor of `element_type` can be bitcast to, itself first.

    The wider type's bits must be a multiple of the narrower's (C1), and complex types go with
    complex types only (C2).
    """
    fitting = (
        row
        for row in ALL
        if row is not element_type
        and row.is_complex == element_type.is_complex
        and max(row.bits, element_type.bits) % min(row.bits, element_type.bits) == 0
    )
    return (element_type, *fitting)

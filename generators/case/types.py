"""Result types that an operand's element type permits."""

from __future__ import annotations

from reference.ir.types import ALL, ElementType


def bitcast_results(element_type: ElementType) -> tuple[ElementType, ...]:
    """Return the element types to which `element_type` can be bitcast, itself first.

    The wider type's bits must be a multiple of the narrower's (C1), and complex types can only be
    bitcast to complex types (C2).
    """
    fitting = (
        row
        for row in ALL
        if row is not element_type
        and row.is_complex == element_type.is_complex
        and max(row.bits, element_type.bits) % min(row.bits, element_type.bits) == 0
    )
    return (element_type, *fitting)

"""Errors from underflow: half of the smallest subnormal number, or a whole flushed number.

IEEE 754, which the specification refers to, has gradual underflow, and bounds grant it. The same
bounds with flushed subnormal numbers distinguish flushing from other errors. In a flushed sum,
elements and partial sums in any order are flushed: a sum of normal numbers may be wrong in its
leading digits if partial sums nearly cancel.
"""

from __future__ import annotations

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Leaves

_FLUSHED_EXPONENT = 8


def has_flushing_modes(element_type: ElementType) -> bool:
    """Return whether hardware has modes that flush the type's subnormal numbers to zero.

    That is so for bf16, f32 and f64, not for f16 and narrower types.
    """
    return (
        element_type.float_format.has_zero
        and element_type.float_format.exponent_bits >= _FLUSHED_EXPONENT
    )


def underflow(element_type: ElementType, *, flushes: bool = False) -> float:
    """Return the absolute error of an underflow, gradual or flushed to zero."""
    form = element_type.float_format
    return form.smallest_normal if flushes and has_flushing_modes(element_type) else form.smallest


def flush_loss(values: Array, init: Array, leaves: Leaves) -> Array | None:
    """Return the largest error of each sum of the leaves from flushing.

    None for types whose subnormal numbers no hardware flushes.
    """
    element_type = element_type_of(values)
    if not (element_type.is_float or element_type.is_complex) or not has_flushing_modes(
        element_type.part
    ):
        return None
    lose = (
        accumulation.complex_sum_flush_loss
        if element_type.is_complex
        else accumulation.sum_flush_loss
    )
    return lose(values, init, leaves)

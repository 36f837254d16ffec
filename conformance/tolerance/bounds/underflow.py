"""What underflow costs: half of the smallest subnormal number, or a whole number that is flushed.

IEEE 754, which the specification names, has gradual underflow. Bounds grant that; the same bounds
with subnormal numbers lost tell what is flushed from what is wrong otherwise.
"""

from __future__ import annotations

from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import accumulation
from reference.numerics.contributions import Leaves

_FLUSHED_EXPONENT = 8


def has_flushing_modes(element_type: ElementType) -> bool:
    """Whether hardware has modes that treat the type's subnormal numbers as zero: of bf16, f32 and
    f64; none of f16 and narrower types."""
    return (
        element_type.float_format.has_zero
        and element_type.float_format.exponent_bits >= _FLUSHED_EXPONENT
    )


def underflow(element_type: ElementType, *, flushes: bool = False) -> float:
    """The absolute error of an operation whose result underflows, gradually or flushed to zero."""
    form = element_type.float_format
    return form.smallest_normal if flushes and has_flushing_modes(element_type) else form.smallest


def flush_loss(values: Array, init: Array, leaves: Leaves) -> Array | None:
    """What each sum of the leaves loses at most; None of types whose subnormal numbers no hardware
    takes for zeros."""
    of = element_type_of(values)
    if not (of.is_float or of.is_complex) or not has_flushing_modes(of.part):
        return None
    lose = accumulation.complex_sum_flush_loss if of.is_complex else accumulation.sum_flush_loss
    return lose(values, init, leaves)

"""NaNs of bf16 that lose their payload when a constant is repeated.

XLA makes a broadcast of a constant with equal elements. LLVM repeats an element of bf16 in a vector
by way of f32 on processors without instructions for bf16, and converts a NaN to the canonical NaN
of its sign.

Source: jaxlib 0.10.2, measured with AVX512, AVX2 and SSE4.2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.alike import different_bits

LABEL = "canonical NaN"

_SIGN, _CANONICAL = np.uint16(0x8000), np.uint16(0x7FC0)
"""The bit of the sign, and the bits of the canonical NaN without it."""


def _canonical_nans(operation: Operation, operands: Operands, expected: Results) -> Results | None:
    """Return the bits of a constant with equal elements, as bf16 with canonical NaNs."""
    del operation, operands
    (result,) = expected
    bits = to_bits(result)
    of = element_type_of(result)
    if of.name != "bf16" or bits.size < 2 or bool((bits != bits.flat[0]).any()):
        return None
    return (from_bits(np.where(np.isnan(result), bits & _SIGN | _CANONICAL, bits), of),)


def _equal_bits(array: Array, other: Array) -> Array:
    return ~different_bits(array, other)


REPEATED = replace(
    exact_hypothesis(LABEL, _canonical_nans, equal=_equal_bits), constants=("operand",)
)
"""Bits of a repeated constant."""

"""Comparisons of elements of four bits with a constant whose elements are all one negative number.

XLA's GPU compiler does not truncate such a constant to its four bits, and LLVM folds comparisons by
wrong bounds. No element is at least the smallest number. In total order, which XLA compares as
integers of four bits, every element is over a negative constant.

Source: jaxlib 0.11.2, the LLVM IR of comparisons with every constant; results of an NVIDIA H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from conformance.known.hypothesis import Operands, Results, any_outcome_hypothesis
from conformance.known.xla.sub_byte.two_bits import COMPARED
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of, to_bits

_OVER, _UNDER, _AT_LEAST = ("LT", "GT"), ("GT", "LT"), ("LE", "GE")
"""Directions by the position of the constant: the other operand is over it, under it, at least it.
"""
_SIGN = 8
_SMALLEST = {"si4": 8, "f4E2M1FN": 15}
"""The bits of the smallest number of each type."""


def _results(operation: Operation, operands: Operands, *, place: int) -> Iterator[Results]:
    """Yield the result of a comparison with a negative constant, if it is wrong."""
    constant = operands[place]
    bits = _common_bits(constant)
    name, direction = element_type_of(constant).name, operation.attribute("comparison_direction")
    if name not in _SMALLEST or bits is None or bits < _SIGN:
        return
    is_total = operation.attribute("compare_type") == "TOTALORDER"
    if name != "si4" and not is_total:
        return
    if bits == _SMALLEST[name]:
        if direction == _AT_LEAST[place]:
            yield (np.zeros(constant.shape, np.bool_),)
    elif is_total and direction in (_OVER[place], _UNDER[place]):
        yield (np.full(constant.shape, direction == _OVER[place]),)


def _common_bits(array: Array) -> int | None:
    """Return the bits that all elements have; None if they differ or there are none."""
    found = np.unique(to_bits(array))
    return int(found[0]) if found.size == 1 else None


COMPARISONS = tuple(
    any_outcome_hypothesis(COMPARED, partial(_results, place=place), constants=(name,))
    for place, name in enumerate(("lhs", "rhs"))
)
"""The classes of comparisons whose left or right operand is the constant."""

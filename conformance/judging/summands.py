"""Elements of operands that sums of products read, found by sums of powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tolerance.rule import Summation
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import magnitudes

PROBED = 52
"""Elements whose powers of two add up exactly in float64."""

MOST = 4096
"""Largest size of an operand that is searched."""


def factors_read(
    operation: Operation, operands: tuple[Any, ...], summation: Summation, flat: int
) -> tuple[Array, ...] | None:
    """Return the flat indices of the elements of each factor that the sum at index `flat` reads.

    The factors are the first two operands, or the only one. None if they are too large, or if a sum
    reads an element several times.
    """
    factors, others = operands[:2], operands[2:]
    if not all(isinstance(one, np.ndarray) and one.size <= MOST for one in factors):
        return None
    ones = [np.ones(one.shape) for one in factors]
    count = int(summation(operation, (*ones, *others), magnitudes).reshape(-1)[flat])
    read: list[Array] = []
    for number, factor in enumerate(factors):
        found: list[int] = []
        for start in range(0, factor.size, PROBED):
            probe = np.zeros(factor.size)
            bits = np.arange(min(PROBED, factor.size - start))
            probe[start : start + bits.size] = 2.0**bits
            given = [*ones[:number], probe.reshape(factor.shape), *ones[number + 1 :], *others]
            total = int(summation(operation, tuple(given), magnitudes).reshape(-1)[flat])
            found += [start + int(bit) for bit in bits if total >> int(bit) & 1]
        if len(found) != count:
            return None
        read.append(np.array(found, np.int64))
    return tuple(read)

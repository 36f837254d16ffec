"""Elements of operands that sums of products read, found by sums of powers of two."""

from __future__ import annotations

from collections.abc import Sequence
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

MOST_SUMS = 1 << 20
"""Largest number of sums that are computed for the search: all sums of the result, once for each
`PROBED` elements of an operand.
"""


def factors_read(
    operation: Operation,
    operands: tuple[Any, ...],
    summation: Summation,
    flat: Array,
) -> list[tuple[Array, ...]]:
    """Return the flat indices of the elements of each factor that the sum at each index in `flat`
    reads.

    The factors are the first two operands, or the only one. A sum has none if they are too large,
    if there are too many sums, or if it reads an element several times.
    """
    factors, others = operands[:2], operands[2:]
    if not all(isinstance(one, np.ndarray) and one.size <= MOST for one in factors):
        return [() for _ in flat]

    def sums_of(given: Sequence[Array]) -> Array:
        return summation(operation, (*given, *others), magnitudes).reshape(-1)

    ones = [np.ones(one.shape) for one in factors]
    whole = sums_of(ones)
    if whole.size * sum(-(-one.size // PROBED) for one in factors) > MOST_SUMS:
        return [() for _ in flat]
    counts = whole[flat]
    read: list[list[Array]] = [[] for _ in flat]
    for index, factor in enumerate(factors):
        found: list[list[int]] = [[] for _ in flat]
        for start in range(0, factor.size, PROBED):
            probe = np.zeros(factor.size)
            bits = np.arange(min(PROBED, factor.size - start))
            probe[start : start + bits.size] = 2.0**bits
            sums = sums_of([*ones[:index], probe.reshape(factor.shape), *ones[index + 1 :]])
            for indices, total in zip(found, sums[flat], strict=True):
                indices += [start + int(bit) for bit in bits if int(total) >> int(bit) & 1]
        for arrays, indices in zip(read, found, strict=True):
            arrays.append(np.array(indices, np.int64))
    return [
        tuple(arrays) if all(array.size == count for array in arrays) else ()
        for arrays, count in zip(read, counts, strict=True)
    ]

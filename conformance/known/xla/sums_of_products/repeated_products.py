"""Products of integers of eight bits on GPUs that are added twice.

Triton multiplies tiles of a matrix by instructions of a tensor core. The instruction for eight bits
takes 32 terms. A tile of 16 terms fills it twice, with the same terms, so that the sum is doubled.

Source: jaxlib 0.11.2 on an NVIDIA H200, and the PTX of these kernels: `mma.sync.m16n8k32` whose
registers for both halves are the same.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from reference.ir.program import Operation
from reference.ir.types import element_type_of

REPEATED = "products added twice"


def _double_sums(operation: Operation, operands: Operands, expected: Results) -> Results | None:
    """Return twice the sums of products of si8 in si32, saturated as the instruction's sums are."""
    del operation
    types = [element_type_of(one).name for one in (*operands[:2], *expected)]
    if types != ["si8", "si8", "si32"]:
        return None
    limits = np.iinfo(np.int32)
    twice = np.clip(2 * expected[0].astype(np.int64), limits.min, limits.max)
    return (twice.astype(expected[0].dtype),)


TWICE = exact_hypothesis(REPEATED, _double_sums)
"""The class of sums of products that are twice as large."""

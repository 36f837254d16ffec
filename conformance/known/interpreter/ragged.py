"""Group sizes of a ragged dot that are misread as belonging to the first dimensions of lhs.

The shape of the sizes consists of the batching dimensions, and of those dimensions before the
ragged dimension that are of the same kind (contracting or not). StableHLO's pass sets elements
outside a group to zero. To do so, it repeats the sizes along the first dimensions of lhs, whatever
their kind.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from conformance.known.hypothesis import Results, exact_hypothesis
from conformance.known.interpreter.sums import stepwise_products
from conformance.known.xla.sums_of_products.ragged_groups import MISREAD, mask_groups
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import arithmetic
from reference.ops.contraction import Dimensions, arrange_matrices
from reference.ops.ragged import Mode, ragged_numbers


def _predict_misread_sizes(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the results with group sizes read along the first dimensions of lhs.

    None if the sizes belong to these dimensions, or do not fit them.
    """
    lhs, rhs, group_sizes = operands
    numbers, to = ragged_numbers(**given_attributes(operation)), element_type_of(expected[0])
    count = group_sizes.ndim - 1
    if numbers.mode is Mode.BATCH or numbers.outer_dimensions(lhs.ndim)[:count] == tuple(
        range(count)
    ):
        return None
    masked = mask_groups(lhs, numbers.ragged, group_sizes)
    if masked is None:
        return None
    if numbers.mode is Mode.DEPTH:
        return (np.stack([_product(one, rhs, numbers.dot, to) for one in masked]),)
    assert numbers.group is not None
    parts = np.moveaxis(rhs, numbers.group, 0)
    of_groups = [
        _product(one, part, numbers.group_dimensions, to)
        for one, part in zip(masked, parts, strict=True)
    ]
    return (reduce(arithmetic.add, of_groups),)


def _product(lhs: Array, rhs: Array, dimensions: Dimensions, to: ElementType) -> Array:
    a, b, shape = arrange_matrices(lhs, rhs, dimensions)
    return stepwise_products(a, b, to, np.arange(a.shape[-1])).reshape(shape)


MISPLACED = exact_hypothesis(MISREAD, _predict_misread_sizes)

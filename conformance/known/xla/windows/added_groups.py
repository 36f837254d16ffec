"""Convolutions by batch groups whose groups are added up.

A convolution with reversed windows goes to cuDNN, or to a fused kernel, as the gradient of another
with respect to its input, and its batch groups are ignored: the kernel is multiplied with the
images of all groups, as if the groups were input features with the same kernel.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured.
"""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import Operands, Results
from conformance.tolerance.bounds.convolution import geometry_of
from reference.ir.program import Operation

LABEL = "batch groups added up"


def rewrite(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the convolution whose batch groups are input features; None if it has none."""
    del expected
    of = geometry_of(operation, operands)
    if of.batch_groups == 1 or not any(of.reversal):
        return None
    lhs, rhs, *rest = operands
    groups = np.split(lhs, of.batch_groups, axis=of.input_batch)
    image = np.concatenate(groups, axis=of.input_feature)
    kernel = np.concatenate([rhs] * of.batch_groups, axis=of.kernel_input_feature)
    return operation.with_attributes(batch_group_count=1), (image, kernel, *rest)

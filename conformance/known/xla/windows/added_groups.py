"""Convolutions by batch groups whose groups are added up.

A convolution with reversed windows goes to cuDNN, or to a fused kernel, as the gradient of another
with respect to its input, and its batch groups are lost: the kernel is multiplied with the images
of all groups, as if the groups were input features with the same kernel.

Source: jaxlib 0.11.2 on an NVIDIA H200, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, rewriting_hypothesis
from conformance.tolerance.bounds.convolution import geometry_of
from conformance.tolerance.rule import Bound
from reference.ir.program import Operation, attributes

LABEL = "batch groups added up"


def added_groups_hypothesis(bound: Bound) -> Hypothesis:
    """Return the hypothesis, given the largest permitted errors of a convolution."""
    return rewriting_hypothesis(LABEL, _groups_as_features, bound)


def _groups_as_features(
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
    given = dict(operation.attributes) | {"batch_group_count": 1}
    return replace(operation, attributes=attributes(**given)), (image, kernel, *rest)

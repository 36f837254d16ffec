"""Convolutions that read memory behind the image if its low padding is negative and its high
padding positive.

XLA's CPU compiler convolves images of one or two dimensions by Eigen's patches. They misread
positions of the high padding as further positions of the image, if the low padding cuts off at
least as many. So they read the memory there, in the order of batch, spatial dimensions and feature:
the next row, or the next image. The memory behind the last image is unknown. Of such a position,
all features, some or none are read: that depends on the width of the processor's vectors.

Source: https://github.com/openxla/xla/issues/48713; jaxlib 0.10.2, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from conformance.tolerance.bounds.convolution import geometry_of
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.products import to_wide_type
from reference.ops.convolution import Geometry, convolve

LABEL = "image read beyond its end"

_MOST_DIMENSIONS = 2
"""Largest number of spatial dimensions of the images that are convolved by patches."""


def _explain_overrun(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for elements explained by any part of the memory behind the image."""
    of = geometry_of(operation, operands)
    behind = [
        high if low < 0 < high and dilation == 1 else 0
        for (low, high), dilation in zip(of.padding, of.lhs_dilation, strict=True)
    ]
    to = element_type_of(expected[0])
    images = len(behind) <= _MOST_DIMENSIONS and operands[0].size > 0
    if not any(behind) or not images or not to.is_float:
        return predict_nothing(expected)
    rest = [(low, high - more) for (low, high), more in zip(of.padding, behind, strict=True)]
    longer, read, unknown = _extend_image(operands[0], of, behind)
    memory, kernel = (to_wide_type(one).astype(np.float64) for one in (longer, operands[1]))
    of = replace(of, padding=tuple(rest))
    most, least = (
        sum(_sums(np.where(read, one, 0.0), two, of) for one, two in pairs)
        for pairs in _pairs(memory, kernel)
    )
    lost = _sums(unknown * 1.0, np.ones_like(kernel), of) > 0
    right, got = (to_wide_type(one).astype(np.float64) for one in (expected[0], actual[0]))
    slack = 2.0 ** (1 - to.float_format.precision) * (np.abs(right) + most - least)
    between = (got >= right + least - slack) & (got <= right + most + slack)
    open_ = ~np.isfinite(most - least) | lost
    infinite = np.isinf(got) & _nan_by_padding(memory, kernel, read, of)
    left_out = np.isnan(right) & ~np.isnan(got) & ~infinite
    return predict_where((between | open_) & ~left_out)


IMAGE_OVERRUN = Hypothesis(LABEL, _explain_overrun, unsteady=True)


def _pairs(memory: Array, kernel: Array) -> tuple[tuple[tuple[Array, Array], ...], ...]:
    """Return the factors of the products above 0, and of the products below 0."""
    above, below = np.maximum(memory, 0.0), np.minimum(memory, 0.0)
    more, less = np.maximum(kernel, 0.0), np.minimum(kernel, 0.0)
    return ((above, more), (below, less)), ((above, less), (below, more))


def _nan_by_padding(memory: Array, kernel: Array, read: Array, of: Geometry) -> Array:
    """Return the elements that may be NaN only through padding: 0 times infinity.

    Other numbers times infinity are infinities. A NaN from other elements stays NaN.
    """
    infinite = _sums(read * 1.0, np.isinf(kernel) * 1.0, of) > 0
    of_image = _sums(np.isnan(memory) & ~read, np.ones_like(kernel), of) > 0
    of_kernel = _sums(np.ones_like(memory), np.isnan(kernel) * 1.0, of) > 0
    return infinite & ~of_image & ~of_kernel


def _sums(image: Array, kernel: Array, of: Geometry) -> Array:
    return convolve(image, kernel, of, np.matmul)


def _extend_image(lhs: Array, of: Geometry, behind: Sequence[int]) -> tuple[Array, Array, Array]:
    """Return the image followed by memory, with masks of that memory and of unknown elements."""
    stored = np.transpose(lhs, of.input_dimensions)
    batch, *spatial, features = stored.shape
    sizes = (batch, *(size + more for size, more in zip(spatial, behind, strict=True)), features)
    steps = [1]
    for size in (features, *reversed(spatial)):
        steps.insert(0, steps[0] * size)
    places, read = np.zeros(sizes, np.int64), np.zeros(sizes, np.bool_)
    for index, step, size in zip(np.indices(sizes, sparse=True), steps, stored.shape, strict=True):
        places += index * step
        read |= index >= size
    unknown = places >= stored.size
    longer = stored.reshape(-1)[np.where(unknown, 0, places)]
    back = np.argsort(of.input_dimensions)
    return np.transpose(longer, back), np.transpose(read, back), np.transpose(unknown, back)

"""Convolutions that read on behind the image, where its low padding is negative and its high not.

Eigen's patches, by which XLA's CPU convolves images of 8 to 16 features in two dimensions or one,
take the places of the high padding for further places of the image, where as many or more were cut
off before it: they hold what lies there in memory, in the order of batch, spatial dimensions and
feature. It is the next row, or the next image; what lies behind the last one nobody knows.

Source: https://github.com/openxla/xla/issues/48713; jaxlib 0.10.2, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.tolerance.rule import Deviation, Measure
from reference.interpreter.evaluate import apply, given_attributes
from reference.ir.constants import matrix
from reference.ir.program import Operation, attributes
from reference.ir.types import Array
from reference.ops.convolution import Geometry, convolved, geometry

LABEL = "image read beyond its end"


def read_on(plainly: Measure) -> Deviation:
    """The images with what lies behind them in place of padding; `plainly` measures errors."""

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        dynamic = operation.name == "dynamic_conv"
        padding = operands[2] if dynamic else None
        of = geometry(given_attributes(operation), operands[0].ndim - 2, padding)
        behind = [high if low < 0 < high else 0 for low, high in of.padding]
        if not any(behind) or not operands[0].size:
            return (np.full(expected[0].shape, np.inf),)
        image, unknown = _longer(operands[0], of, behind)
        rest = tuple(
            (low, high - more) for (low, high), more in zip(of.padding, behind, strict=True)
        )
        given = (image, operands[1])
        if dynamic:
            given = (*given, np.array(rest, operands[2].dtype))
        else:
            said = {**dict(operation.attributes), "padding": matrix(rest)}
            operation = replace(operation, attributes=attributes(**said))
        errors = plainly(operation, given, apply(operation, given), actual)
        kernel = np.ones(operands[1].shape)
        takes = convolved(unknown * 1.0, kernel, replace(of, padding=rest), np.matmul) > 0
        return (np.where(takes, 0.0, errors[0]),)

    return Deviation(LABEL, measure, unsteady=True)


def _longer(lhs: Array, of: Geometry, behind: list[int]) -> tuple[Array, Array]:
    """The image with what lies behind it in memory, and which of its places nobody knows."""
    stored = np.transpose(lhs, of.input_dimensions)
    batch, *spatial, features = stored.shape
    sizes = (batch, *(size + more for size, more in zip(spatial, behind, strict=True)), features)
    strides = [1]
    for size in (features, *reversed(spatial)):
        strides.insert(0, strides[0] * size)
    places = sum(
        (
            index * stride
            for index, stride in zip(np.ogrid[*map(slice, sizes)], strides, strict=True)
        ),
        start=np.zeros(sizes, np.int64),
    )
    unknown = places >= stored.size
    longer = stored.reshape(-1)[np.where(unknown, 0, places)]
    back = np.argsort(of.input_dimensions)
    return np.transpose(longer, back), np.transpose(unknown, back)

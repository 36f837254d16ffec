"""Convolutions whose dilated kernels have zeros in their holes.

The specification does not multiply the elements of the image that lie in a hole. A product with
zero is NaN where the image is infinite or NaN.

Source: jaxlib 0.12.0 for GPUs, measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.known.hypothesis import Operands, Results
from reference.ir.program import Operation, TensorType
from reference.ir.types import Array

LABEL = "kernel dilated with zeros"


def rewrite(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the convolution by a kernel with zeros in its holes; None if it has no holes."""
    del expected
    steps = operation.attribute("rhs_dilation", ())
    assert isinstance(steps, tuple)
    spatial = operation.attribute("kernel_spatial_dimensions", ())
    assert isinstance(spatial, tuple)
    if all(step == 1 for step in steps):
        return None
    lhs, kernel, *rest = operands
    wide = _dilate(kernel, {int(d): int(step) for d, step in zip(spatial, steps, strict=True)})
    value, of = operation.operands[1], operation.operands[1].type
    assert isinstance(of, TensorType)
    factor = replace(value, type=TensorType(wide.shape, of.element_type))
    values = (operation.operands[0], factor, *operation.operands[2:])
    other = operation.with_attributes(rhs_dilation=(1,) * len(steps))
    return replace(other, operands=values), (lhs, wide, *rest)


def _dilate(kernel: Array, steps: dict[int, int]) -> Array:
    shape = [
        size if d not in steps else max(0, (size - 1) * steps[d] + 1)
        for d, size in enumerate(kernel.shape)
    ]
    wide = np.zeros(shape, np.uint8).astype(kernel.dtype)
    wide[tuple(slice(None, None, steps.get(d, 1)) for d in range(kernel.ndim))] = kernel
    return wide

"""Windows as large as the image, whose reversal is left out.

A convolution of a single place, whose groups have one feature each, is a product of image and
window added up; XLA's algebraic simplifier makes that of it, and takes the window as it stands.

Source: jaxlib 0.10.2 and 0.12.0, measured; found by `hlo-conformance fuzz --seed 7708`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.tolerance.models.windows.image_overrun import GeometryOf
from conformance.tolerance.rule import Bound, Deviation
from conformance.tolerance.ulp import distances_from_other
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, attributes
from reference.ir.types import Array
from reference.ops.convolution import Geometry

LABEL = "reversal left out"


def unreversed(geometry_of: GeometryOf, bound: Bound) -> Deviation:
    """The deviation, where `bound` gives the largest permitted errors of a convolution."""

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        (right,), (got,) = expected, actual
        of = geometry_of(operation, operands)
        if not any(of.reversal) or not _is_one_place(of, operands[1], right):
            return (np.full(right.shape, np.inf),)
        given = dict(operation.attributes) | {"window_reversal": (False,) * len(of.reversal)}
        other = replace(operation, attributes=attributes(**given))
        results = apply(other, operands)
        (want,), (limit,) = results, bound(other, operands, results)
        return (distances_from_other(want, got, limit),)

    return Deviation(LABEL, measure)


def _is_one_place(of: Geometry, kernel: Array, result: Array) -> bool:
    places = [result.shape[dimension] for dimension in of.output_spatial]
    plain = all(low == high == 0 for low, high in of.padding)
    return plain and kernel.shape[of.kernel_input_feature] == 1 and all(n == 1 for n in places)

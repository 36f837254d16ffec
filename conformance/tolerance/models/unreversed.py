"""Windows as large as the image, whose reversal is left out.

A convolution of a single place, whose groups have one feature each, is a product of image and
window added up; XLA's algebraic simplifier makes that of it, and takes the window as it stands.

Source: jaxlib 0.10.2 and 0.12.0, measured; found by `hlo-conformance fuzz --seed 7708`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from conformance.tolerance.rule import Deviation
from conformance.tolerance.ulp import bound_distances
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, attributes
from reference.ir.types import Array
from reference.numerics.alike import without_subnormals
from reference.ops.convolution import Geometry
from reference.unspecified.reduction import differ

LABEL = "reversal left out"

Bound = Callable[[Operation, tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]]
GeometryOf = Callable[[Operation, tuple[Array, ...]], Geometry]


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
        errors = np.where(differ(want, got), np.inf, 0.0)
        if limit is not None:
            flat = bound_distances(want.reshape(-1), got.reshape(-1), limit.reshape(-1))
            errors = np.where(errors > 0, flat.reshape(got.shape), 0.0)
        errors[(without_subnormals(want) == 0) & (got == 0)] = 0.0
        return (errors,)

    return Deviation(LABEL, measure)


def _is_one_place(of: Geometry, kernel: Array, result: Array) -> bool:
    places = [result.shape[dimension] for dimension in of.output_spatial]
    plain = all(low == high == 0 for low, high in of.padding)
    return plain and kernel.shape[of.kernel_input_feature] == 1 and all(n == 1 for n in places)

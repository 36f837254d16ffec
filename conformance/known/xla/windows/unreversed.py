"""Windows that are as large as the image, and whose reversal is ignored.

A convolution with a single window position, whose groups have one feature each, is a sum of
products of image and window. XLA's algebraic simplifier computes this sum, with the window
unreversed.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from conformance.known.hypothesis import Operands, Results
from conformance.tolerance.bounds.convolution import geometry_of
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.ops.convolution import Geometry

LABEL = "reversal left out"


def rewrite(
    operation: Operation, operands: Operands, expected: Results
) -> tuple[Operation, Operands] | None:
    """Return the convolution without its reversal; None if nothing is reversed or omitted."""
    if not any(geometry_of(operation, operands).reversal):
        return None
    rewritten = without_reversal(operation, operands, expected)
    return None if rewritten is None else (rewritten, operands)


def without_reversal(
    operation: Operation, operands: Operands, expected: Results
) -> Operation | None:
    """Return a convolution without its reversal; None if it has several window positions."""
    of = geometry_of(operation, operands)
    if not _is_one_place(of, operands[1], expected[0]):
        return None
    return operation.with_attributes(window_reversal=(False,) * len(of.reversal))


def _is_one_place(of: Geometry, kernel: Array, result: Array) -> bool:
    places = [result.shape[dimension] for dimension in of.output_spatial]
    plain = all(low == high == 0 for low, high in of.padding)
    return plain and kernel.shape[of.kernel_input_feature] == 1 and all(n == 1 for n in places)

"""Tolerance rules of the ops of reference/ops/convolution.py."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from conformance.tolerance.bounds.products import (
    Default,
    Summation,
    bounded,
    flushing,
    losing,
    measured,
)
from conformance.tolerance.bounds.zeros import either_zero_of
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models.product_types import in_operand_type, in_result_type
from conformance.tolerance.models.windows.float_sums import added_up
from conformance.tolerance.models.windows.image_overrun import image_overrun
from conformance.tolerance.models.windows.masked_groups import (
    Errors,
    products_with_zero,
    sums_inside,
)
from conformance.tolerance.models.windows.unreversed import unreversed
from conformance.tolerance.rule import Deviation, Rule
from conformance.tolerance.ulp import distances_from
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import alike
from reference.numerics.products import magnitudes, narrowed, started, sums
from reference.ops.convolution import Geometry, convolved, geometry


def geometry_of(operation: Operation, operands: tuple[Array, ...]) -> Geometry:
    """What the attributes say, and operands where it is dynamic."""
    padding = operands[2] if operation.name == "dynamic_conv" else None
    return geometry(given_attributes(operation), operands[0].ndim - 2, padding)


def _summed(
    operation: Operation, operands: tuple[Array, ...], sizes: bool, padding: float = 0.0
) -> Array:
    """The sums of a convolution before they are rounded, or the sums of magnitudes."""
    of = geometry_of(operation, operands)
    return convolved(operands[0], operands[1], of, magnitudes if sizes else sums, padding)


def _summed_inside(
    operation: Operation, operands: tuple[Array, ...], sizes: bool, padding: float = 0.0
) -> Array:
    """The same without products with padding and holes, whose magnitudes are 0."""
    if sizes:
        return _summed(operation, operands, sizes, padding)
    return sums_inside(operands[0], operands[1], geometry_of(operation, operands))


def _depth(operation: Operation, operands: tuple[Array, ...]) -> int:
    """How many products make up an element of the result, those with padding included."""
    of, rhs = geometry_of(operation, operands), operands[1]
    return prod(rhs.shape[d] for d in (*of.kernel_spatial, of.kernel_input_feature))


def _deviations(default: Default) -> tuple[Deviation, ...]:
    """Subnormal numbers that are lost; sums and operands of a type that holds less; exact data,
    of which a transform (Winograd's) makes sums that are not exact, where the specification defines
    each result as a `dot_general`; what stands behind the image in place of padding; integers that
    are added up in float64; and windows whose reversal is left out."""
    transformed = measured(_summed, _depth, replace(default, exact=False))

    def errors_of(inside: bool, depth: int, in_ulps: bool) -> Errors:
        """Return how results are measured against sums of so many products."""
        summation: Summation = _summed_inside if inside else _summed
        measure = measured(summation, lambda *_: depth, default)

        def errors(operation: Operation, operands: tuple[Array, ...], got: Array) -> Array:
            total = summation(operation, operands, False)
            want = narrowed(started(total), element_type_of(got))
            if in_ulps:
                return distances_from(want, got)
            return np.where(alike(want, got), 0.0, measure(operation, operands, (want,), (got,))[0])

        return errors

    return (
        flushing(_summed, _depth, default),
        in_result_type(bounded(_summed, _depth, default)),
        in_operand_type(bounded(_summed, _depth, default)),
        Deviation("transformed convolution", transformed),
        image_overrun(geometry_of),
        *products_with_zero(geometry_of, _depth, errors_of),
        added_up(geometry_of),
        unreversed(geometry_of, bounded(_summed, _depth, default)),
    )


_TEXT = (
    "exact data bit for bit; otherwise within u_out |e| + (2 u_in + gamma(n)(u_acc)) S of the "
    "exact sum e of n products whose magnitudes add up to S; 0 where S is; integers modulo 2^bits"
)
_SOURCE = "TOSA conformance, DOT_PRODUCT; Higham, Accuracy and Stability, sections 3.1 and 3.5"
_GPU = Rule(
    "convolution on a GPU",
    f"{_TEXT}; DEFAULT rounds operands of f32 to TF32",
    f"{_SOURCE}; XLA:GPU's precision",
    bound=bounded(_summed, _depth, Default(default=2.0**-11)),
    measure=measured(_summed, _depth, Default(default=2.0**-11)),
    loss=losing(_summed, _depth, Default(default=2.0**-11)),
    either_zero=either_zero_of(_summed, _depth, Default(default=2.0**-11)),
    deviations=_deviations(Default(default=2.0**-11)),
)
_TPU = Rule(
    "convolution on a TPU",
    f"{_TEXT}; DEFAULT rounds operands of f32 to bf16, HIGH makes two bf16 of each",
    f"{_SOURCE}; XLA:TPU's precision",
    bound=bounded(_summed, _depth, Default(default=2.0**-8, high=2.0**-16)),
    measure=measured(_summed, _depth, Default(default=2.0**-8, high=2.0**-16)),
    loss=losing(_summed, _depth, Default(default=2.0**-8, high=2.0**-16)),
    either_zero=either_zero_of(_summed, _depth, Default(default=2.0**-8, high=2.0**-16)),
    deviations=_deviations(Default(default=2.0**-8, high=2.0**-16)),
)
CONVOLVED = Rule(
    "convolution",
    _TEXT,
    _SOURCE,
    rounds_operands=True,
    bound=bounded(_summed, _depth, Default()),
    measure=measured(_summed, _depth, Default()),
    loss=losing(_summed, _depth, Default()),
    either_zero=either_zero_of(_summed, _depth, Default()),
    deviations=_deviations(Default()),
    elsewhere=((Hardware.GPU, _GPU), (Hardware.TPU, _TPU)),
)

"""Tolerance rules of the ops of reference/ops/convolution.py."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from conformance.tolerance.bounds.products import (
    Default,
    bounded,
    default_on,
    losing,
    measured,
)
from conformance.tolerance.bounds.zeros import either_zero_of
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import magnitudes, sums
from reference.ops.convolution import Geometry, convolved, geometry


def geometry_of(operation: Operation, operands: tuple[Array, ...]) -> Geometry:
    """What the attributes say, and operands where it is dynamic."""
    padding = operands[2] if operation.name == "dynamic_conv" else None
    return geometry(given_attributes(operation), operands[0].ndim - 2, padding)


def summed(
    operation: Operation, operands: tuple[Array, ...], sizes: bool, padding: float = 0.0
) -> Array:
    """The sums of a convolution before they are rounded, or the sums of magnitudes."""
    of = geometry_of(operation, operands)
    return convolved(operands[0], operands[1], of, magnitudes if sizes else sums, padding)


def depth_of(operation: Operation, operands: tuple[Array, ...]) -> int:
    """How many products make up an element of the result, those with padding included."""
    of, rhs = geometry_of(operation, operands), operands[1]
    return prod(rhs.shape[d] for d in (*of.kernel_spatial, of.kernel_input_feature))


_TEXT = (
    "exact data bit for bit; otherwise within u_out |e| + (2 u_in + gamma(n)(u_acc)) S of the "
    "exact sum e of n products whose magnitudes add up to S; 0 where S is; integers modulo 2^bits"
)
_SOURCE = "TOSA conformance, DOT_PRODUCT; Higham, Accuracy and Stability, sections 3.1 and 3.5"


def _rule(name: str, default: Default, *, text: str = "", source: str = "") -> Rule:
    of = summed, depth_of, default
    return Rule(
        name,
        _TEXT + text,
        _SOURCE + source,
        bound=bounded(*of),
        measure=measured(*of),
        loss=losing(*of),
        either_zero=either_zero_of(*of),
    )


_GPU = _rule(
    "convolution on a GPU",
    default_on(Hardware.GPU),
    text="; DEFAULT rounds operands of f32 to TF32",
    source="; XLA:GPU's precision",
)
_TPU = _rule(
    "convolution on a TPU",
    default_on(Hardware.TPU),
    text="; DEFAULT rounds operands of f32 to bf16, HIGH makes two bf16 of each",
    source="; XLA:TPU's precision",
)
CONVOLVED = replace(
    _rule("convolution", Default()),
    rounds_operands=True,
    by_hardware=((Hardware.GPU, _GPU), (Hardware.TPU, _TPU)),
)

"""Tolerance rules of the ops of reference/ops/contraction.py."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from conformance.tolerance.bounds.products import (
    Default,
    bounded,
    flushing,
    kept_in_bf16,
    losing,
    measured,
    without_algorithm,
)
from conformance.tolerance.bounds.zeros import either_zero_of
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models.product_types import in_operand_type, in_result_type
from conformance.tolerance.rule import Deviation, Rule
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.products import magnitudes, sums
from reference.ops.contraction import Dimensions, arranged, dot_dimensions, einsum_sums
from reference.ops.ragged import numbers_of, products_of_groups

_BF16 = ELEMENT_TYPES["bf16"]


def _dimensions(operation: Operation, lhs: Array) -> Dimensions:
    if operation.name == "dot":
        return dot_dimensions(lhs.ndim)
    given = given_attributes(operation)
    return Dimensions(
        given.get("lhs_batching_dimensions", ()),
        given.get("rhs_batching_dimensions", ()),
        given.get("lhs_contracting_dimensions", ()),
        given.get("rhs_contracting_dimensions", ()),
    )


def summed(
    operation: Operation,
    operands: tuple[Array, ...],
    sizes: bool,
    _: float = 0.0,
) -> Array:
    """The sums of a contraction before they are rounded, or the sums of magnitudes."""
    if "einsum_config" in given_attributes(operation):
        return einsum_sums(operands, str(operation.attribute("einsum_config")), magnitudes=sizes)
    if operation.attribute("lhs_ragged_dimensions") is not None:
        lhs, rhs, group_sizes = operands
        numbers = numbers_of(**given_attributes(operation))
        return products_of_groups(lhs, rhs, group_sizes, numbers, magnitudes if sizes else sums)
    lhs, rhs = operands
    a, b, shape = arranged(lhs, rhs, _dimensions(operation, lhs))
    return (magnitudes(a, b) if sizes else sums(a, b)).reshape(shape)


def depth_of(operation: Operation, operands: tuple[Array, ...]) -> int:
    """How many products make up an element of the result."""
    config = operation.attribute("einsum_config")
    if config is not None:
        ones = tuple(np.ones(one.shape, np.float32) for one in operands)
        return int(einsum_sums(ones, str(config), magnitudes=True).max(initial=0))
    lhs = operands[0]
    return prod(lhs.shape[d] for d in _dimensions(operation, lhs).lhs_contracting)


def _kept_in_bf16() -> Deviation:
    """Sums of products of bf16 alone."""
    kept = kept_in_bf16(summed, depth_of, Default())

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        if element_type_of(operands[0]) is not _BF16:
            return (np.full(expected[0].shape, np.inf),)
        return kept.measure(operation, operands, expected, actual)

    return replace(kept, measure=measure)


_TEXT = (
    "exact data bit for bit; otherwise within u_out |e| + (2 u_in + gamma(n)(u_acc)) S of the "
    "exact sum e of n products whose magnitudes add up to S; 0 where S is; integers modulo 2^bits"
)
_SOURCE = "TOSA conformance, DOT_PRODUCT; Higham, Accuracy and Stability, sections 3.1 and 3.5"
_GPU = Rule(
    "sum of products on a GPU",
    f"{_TEXT}; DEFAULT rounds operands of f32 to TF32",
    f"{_SOURCE}; XLA:GPU's precision",
    bound=bounded(summed, depth_of, Default(default=2.0**-11)),
    measure=measured(summed, depth_of, Default(default=2.0**-11)),
    loss=losing(summed, depth_of, Default(default=2.0**-11)),
    either_zero=either_zero_of(summed, depth_of, Default(default=2.0**-11)),
    deviations=(
        flushing(summed, depth_of, Default(default=2.0**-11)),
        without_algorithm(summed, depth_of, Default(default=2.0**-11)),
        in_result_type(bounded(summed, depth_of, Default(default=2.0**-11))),
        in_operand_type(bounded(summed, depth_of, Default(default=2.0**-11))),
    ),
)
_TPU = Rule(
    "sum of products on a TPU",
    f"{_TEXT}; DEFAULT rounds operands of f32 to bf16, HIGH makes two bf16 of each",
    f"{_SOURCE}; XLA:TPU's precision",
    bound=bounded(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
    measure=measured(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
    loss=losing(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
    either_zero=either_zero_of(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
    deviations=(
        flushing(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
        without_algorithm(summed, depth_of, Default(default=2.0**-8, high=2.0**-16)),
        in_result_type(bounded(summed, depth_of, Default(default=2.0**-8, high=2.0**-16))),
        in_operand_type(bounded(summed, depth_of, Default(default=2.0**-8, high=2.0**-16))),
    ),
)
CONTRACTED = Rule(
    "sum of products",
    _TEXT,
    _SOURCE,
    rounds_operands=True,
    bound=bounded(summed, depth_of, Default()),
    measure=measured(summed, depth_of, Default()),
    loss=losing(summed, depth_of, Default()),
    either_zero=either_zero_of(summed, depth_of, Default()),
    deviations=(
        flushing(summed, depth_of, Default()),
        without_algorithm(summed, depth_of, Default()),
        in_result_type(bounded(summed, depth_of, Default())),
        in_operand_type(bounded(summed, depth_of, Default())),
        _kept_in_bf16(),
    ),
    elsewhere=((Hardware.GPU, _GPU), (Hardware.TPU, _TPU)),
)

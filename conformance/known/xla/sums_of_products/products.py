"""Sums of products by compilers, except in other types (product_types.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    Rewrite,
    predict_nothing,
    rewriting_hypothesis,
    successive_rewrites,
)
from conformance.known.xla.sums_of_products import product_types, ragged_groups, truncated_nans
from conformance.known.xla.sums_of_products.products_in_loops import F16_CONVOLUTIONS, F16_PRODUCTS
from conformance.known.xla.sums_of_products.repeated_products import TWICE
from conformance.known.xla.sums_of_products.rounded_products import (
    ROUNDED_CONVOLUTIONS,
    ROUNDED_PRODUCTS,
)
from conformance.known.xla.sums_of_products.three_products import THREE_PRODUCTS
from conformance.known.xla.windows import added_groups, dilated_kernels, unreversed
from conformance.known.xla.windows.float_sums import ADDED_UP
from conformance.known.xla.windows.image_overrun import IMAGE_OVERRUN
from conformance.known.xla.windows.masked_groups import zero_product_hypotheses
from conformance.tolerance.bounds import contraction, convolution
from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    Depth,
    Summation,
    default_precision,
    make_bound,
    make_measure,
)
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Bound
from conformance.tolerance.ulp import ulps_from_prediction
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.unrounded import fused_multiply_add

FLUSHED = "subnormal intermediate"
IN_BF16 = "sums kept in bf16"
NOT_KEPT = "stated algorithm not kept"
TRANSFORMED = "transformed convolution"

_BF16 = ELEMENT_TYPES["bf16"]
_OTHER_FORMS = ("einsum_config", "lhs_ragged_dimensions")
"""Attributes of products whose operands are not a plain pair of matrices."""
_MOST_PRODUCTS = 1 << 22
"""Largest number of products that are added in order."""
_FEW = 128
"""Number of roundings to bf16 above which the error may be as large as the sum of all products."""


def flushed_products_class(
    summation: Summation, depth: Depth, default: DefaultPrecision
) -> Hypothesis:
    """Return the class of sums whose subnormal operands, products or partial sums become zero."""
    lost = make_measure(summation, depth, default, flushes=True)
    return Hypothesis(FLUSHED, lost, flushes=True)


def bf16_accumulation_errors(
    summation: Summation, depth: Depth, default: DefaultPrecision
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return the errors of sums that are rounded to bf16 at each step without a request for it.

    They are off by the sum of the magnitudes at most.
    """

    def small_depth(operation: Operation, operands: Operands) -> int:
        return min(depth(operation, operands), _FEW)

    return make_measure(summation, small_depth, replace(default, sums=_BF16))


def _predict_bf16_sums(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    if element_type_of(operands[0]) is not _BF16:
        return predict_nothing(expected)
    of = contraction.contraction_sums, contraction.depth_of, DefaultPrecision()
    return bf16_accumulation_errors(*of)(operation, operands, expected, actual)


def _without_algorithm(default: DefaultPrecision) -> Hypothesis:
    """Return the class of sums that ignore the algorithm that the operation states.

    They are as accurate as sums without an algorithm, or they are sums in the algorithm's type of
    operands that are not rounded.
    """
    plainly = make_measure(contraction.contraction_sums, contraction.depth_of, default)

    def errors(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        if operation.attribute("accumulation_type") is None:
            return predict_nothing(expected)
        found = (
            plainly(other, operands, apply(other, operands), actual)[0]
            for other in _ignore_algorithm(operation)
        )
        return (np.minimum(*found),)

    return Hypothesis(NOT_KEPT, errors, ulps=_ulps_ignoring)


def _ulps_ignoring(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return the distances in ulp of results from sums that ignore the algorithm.

    The sums are rounded once, or in f32 and f64 after each product, in order.
    """
    del expected
    others = [apply(other, operands)[0] for other in _ignore_algorithm(operation)]
    others.extend(_sums_in_order(operation, operands))
    return (np.minimum.reduce([ulps_from_prediction(other, actual[0]) for other in others]),)


def _sums_in_order(operation: Operation, operands: Operands) -> Iterator[Array]:
    """Yield sums of products in order, with the products rounded, then fused into the sums."""
    of = element_type_of(operands[0])
    is_other = any(operation.attribute(name) is not None for name in _OTHER_FORMS)
    if of.name not in ("f32", "f64") or is_other:
        return
    wide_lhs, wide_rhs, shape = contraction.matrices_of(operation, operands)
    lhs, rhs = wide_lhs.astype(of.storage), wide_rhs.astype(of.storage)
    if lhs.size * rhs.shape[-1] > _MOST_PRODUCTS:
        return
    rounded = fused = np.zeros((*lhs.shape[:-1], rhs.shape[-1]), of.storage)
    for number in range(lhs.shape[-1]):
        column, row = lhs[..., number, None], rhs[..., number, None, :]
        rounded = rounded + column * row
        fused = fused_multiply_add(column, row, fused, of)
    yield from (one.reshape(shape) for one in (rounded, fused))


def _ignore_algorithm(operation: Operation) -> tuple[Operation, Operation]:
    """Return an operation without its algorithm, and an operation whose algorithm does not round
    operands.
    """
    plain = [pair for pair in operation.attributes if pair[0] != "accumulation_type"]
    types = {f"{side}_precision_type": "f64" for side in ("lhs", "rhs")}
    unrounded = [(name, types.get(name, value)) for name, value in operation.attributes]
    return (
        replace(operation, attributes=tuple(plain)),
        replace(operation, attributes=tuple(unrounded)),
    )


def _retyped_hypotheses(bound: Bound, platform: str) -> tuple[Hypothesis, ...]:
    """Return the classes of products in other types, given their largest permitted errors."""
    round_result = product_types.round_result
    if platform not in _PRECISE_BY_CHOICE:
        round_result = product_types.where_operands_have_more_range(round_result)
    own = product_types.bound_in_operands_type(bound)
    return (
        rewriting_hypothesis(product_types.OPERANDS, _operand_rounding(platform), bound),
        rewriting_hypothesis(product_types.RESULT, round_result, own),
    )


def _operand_rounding(platform: str) -> Rewrite:
    """Return the rewriting of a product to one of operands rounded to the result's type."""
    if platform in _PRECISE_BY_CHOICE:
        return product_types.round_operands
    return product_types.where_result_has_more_range(product_types.round_operands)


def contraction_hypotheses(platform: str) -> tuple[Hypothesis, ...]:
    """Return the classes of sums of products on a `Hardware`."""
    default = default_precision(platform)
    of = contraction.contraction_sums, contraction.depth_of, default
    is_cpu = platform not in _PRECISE_BY_CHOICE
    bound, is_gpu = make_bound(*of), platform == Hardware.GPU
    of_groups = (
        rewriting_hypothesis(ragged_groups.ROTATED, ragged_groups.rotate_batches, bound),
        rewriting_hypothesis(ragged_groups.MISREAD, ragged_groups.misread_sizes, bound),
    )
    of_nans = rewriting_hypothesis(truncated_nans.LABEL, truncated_nans.rewrite, bound)
    return (
        *(() if is_cpu else (ROUNDED_PRODUCTS,)),  # first: it predicts most exactly
        flushed_products_class(*of),
        _without_algorithm(default),
        *_retyped_hypotheses(bound, platform),
        *((Hypothesis(IN_BF16, _predict_bf16_sums),) if is_cpu else ()),
        *((THREE_PRODUCTS,) if platform == Hardware.TPU else ()),
        *((*of_groups, product_types.OVERFLOWED, F16_PRODUCTS, TWICE, of_nans) if is_gpu else ()),
    )


_PRECISE_BY_CHOICE = (Hardware.GPU, Hardware.TPU)
"""Hardware that rounds operands by default, for which no sums kept in bf16 are known."""


@cache
def convolution_hypotheses(platform: str) -> tuple[Hypothesis, ...]:
    """Return the classes of convolutions on a `Hardware`.

    In addition to the classes of sums of products, these are: exact data that a transform
    (Winograd's) turns into inexact sums, where the specification defines each result as a
    `dot_general`; memory behind the image that is read as padding; products with zero that are
    omitted or added; integers summed in float64, on CPUs if they are constants; and windows whose
    reversal is ignored. On GPUs also batch groups that are summed, kernels whose holes are zeros,
    and sums in f16; on GPUs and TPUs rounded products, and images exchanged with kernels.
    """
    default = default_precision(platform)
    of = convolution.convolution_sums, convolution.depth_of, default
    bound = make_bound(*of)
    inexact = convolution.convolution_sums, convolution.depth_of, replace(default, exact=False)
    is_gpu = platform == Hardware.GPU
    return (
        # first: they predict most exactly
        *((ROUNDED_CONVOLUTIONS,) if platform in _PRECISE_BY_CHOICE else ()),
        *((F16_CONVOLUTIONS,) if is_gpu else ()),
        flushed_products_class(*of),
        *_retyped_hypotheses(bound, platform),
        Hypothesis(TRANSFORMED, make_measure(*inexact)),
        *(
            rewriting_hypothesis(one.LABEL, one.rewrite, bound)
            for one in ((added_groups, dilated_kernels) if is_gpu else ())
        ),
        *zero_product_hypotheses(default, platform),
        replace(ADDED_UP, constants=("*",)) if platform == Hardware.CPU else ADDED_UP,
        rewriting_hypothesis(
            unreversed.LABEL,
            unreversed.rewrite,
            bound,
            others=(successive_rewrites(unreversed.rewrite, _operand_rounding(platform)),),
        ),
        IMAGE_OVERRUN,  # last: it predicts bounds where it knows the memory, else anything
    )

"""Classes of sums of products: their errors by hand, and the hardware that has them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.sums_of_products import (
    product_types,
    products_in_loops,
    ragged_groups,
    truncated_nans,
)
from conformance.known.xla.sums_of_products.products import (
    FLUSHED,
    IN_BF16,
    NOT_KEPT,
    TRANSFORMED,
    contraction_hypotheses,
    convolution_hypotheses,
)
from conformance.known.xla.sums_of_products.repeated_products import REPEATED
from conformance.known.xla.sums_of_products.rounded_products import LABEL as ROUNDED
from conformance.known.xla.sums_of_products.three_products import LABEL as THREE
from conformance.known.xla.windows import added_groups, dilated_kernels, unreversed
from conformance.known.xla.windows.masked_groups import EXCHANGED
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.small_programs import array

CPU, GPU, TPU = Hardware.CPU, Hardware.GPU, Hardware.TPU


def product(size: int, of: str, options: str = "") -> Operation:
    x = f"tensor<{size}x{of}>"
    return parse_module(f"""
    func.func @main(%x: {x}, %y: {x}) -> tensor<f32> {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]{options}
        : ({x}, {x}) -> tensor<f32>
      return %0 : tensor<f32>
    }}""").subject


def named(label: str, classes: tuple[Hypothesis, ...]) -> Hypothesis:
    (found,) = (one for one in classes if one.label == label)
    return found


def error(
    label: str, x: list[float], y: list[float], got: float, of: str = "f32", options: str = "",
    platform: str = CPU,
) -> float:  # fmt: skip
    """Return the error of a result by a class, in units of the largest that it explains."""
    operation, operands = product(len(x), of, options), (array(x, of), array(y, of))
    hypothesis = named(label, contraction_hypotheses(platform))
    assert hypothesis.errors is not None
    expected = tuple(apply(operation, operands))
    (found,) = hypothesis.errors(operation, operands, expected, (array(got),))
    return float(found)


@pytest.mark.parametrize(
    ("size", "got", "explained"),
    [(2.0**-130, 0, True), (2.0**-130, 2.0**-120, False), (2.0**-100, 0, False)],
)
def test_subnormal_operands_may_be_zero(size: float, got: float, explained: bool) -> None:
    assert (error(FLUSHED, [size], [1], got) <= 1) is explained


@pytest.mark.parametrize(
    ("got", "of", "explained"),
    [
        (258 - 3.05, "bf16", True),
        (258 + 3.05, "bf16", True),
        (258 - 3.07, "bf16", False),
        (256, "f32", False),
    ],
)
def test_sums_of_bf16_may_be_rounded_to_it_at_each_step(
    got: float, of: str, explained: bool
) -> None:
    """Three roundings of 2^-8 have the error 3 / (256 - 3) of the sum of magnitudes, 3.06."""
    assert (error(IN_BF16, [256, 1, 1], [1, 1, 1], got, of) <= 1) is explained


def test_long_sums_are_off_by_their_magnitudes_at_most() -> None:
    """128 roundings of 2^-8 have the error (1 / 2) / (1 - 1 / 2)."""
    ones = [1.0] * 1000
    assert error(IN_BF16, ones, ones, 0, "bf16") <= 1
    assert error(IN_BF16, ones, ones, -1, "bf16") > 1


ALGORITHM = """, algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16,
  accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
  num_primitive_operations = 1, allow_imprecise_accumulation = false>"""


@pytest.mark.parametrize(
    ("got", "options", "explained"),
    [
        (258 + 2.0**-8, ALGORITHM, True),  # as bf16 the first operand is 256, the sum 257
        (257.5, ALGORITHM, False),
        (258 + 2.0**-8, "", False),
    ],
)
def test_operands_may_not_be_rounded_as_the_algorithm_states(
    got: float, options: str, explained: bool
) -> None:
    found = error(NOT_KEPT, [257 + 2.0**-8, 1], [1, 1], got, options=options)
    assert (found <= 1) is explained


@pytest.mark.parametrize(("got", "explained"), [(260.0, True), (261.0, False)])
def test_sums_without_rounded_operands_may_have_the_type_of_the_algorithm(
    got: float, explained: bool
) -> None:
    """Two roundings of 2^-8 have the error 2 / (256 - 2) of the sum 258, 2.03."""
    options = ALGORITHM.replace("accumulation_type = f32", "accumulation_type = bf16")
    found = error(NOT_KEPT, [257 + 2.0**-8, 1], [1, 1], got, options=options)
    assert (found <= 1) is explained


@pytest.mark.parametrize(
    ("got", "is_near"), [(0.0, True), (2.0**-24, True), (1.0, True), (0.5, False)]
)
def test_distances_are_from_sums_in_order_too(got: float, is_near: bool) -> None:
    """With x = 1 + 2^-12 the terms are 2^30, 1, -2^30, -(1 + 2^-11) and x^2 = 1 + 2^-11 + 2^-24.

    The sum is 1 in f32. In order, 1 is lost; then x^2 loses its last term unless it is fused.
    """
    x = 1 + 2.0**-12
    operands = array([2.0**30, 1, -(2.0**30), -1 - 2.0**-11, x]), array([1, 1, 1, 1, x])
    operation, (hypothesis) = (
        product(5, "f32", ALGORITHM),
        named(NOT_KEPT, contraction_hypotheses(CPU)),
    )
    assert hypothesis.ulps is not None
    expected = tuple(apply(operation, operands))
    (found,) = hypothesis.ulps(operation, operands, expected, (array(got),))
    assert (found <= 1) == is_near


def test_classes_of_products_by_hardware() -> None:
    shared = [FLUSHED, NOT_KEPT, product_types.OPERANDS, product_types.RESULT]
    for platform, labels in (
        (CPU, [*shared, IN_BF16]),
        (
            GPU,
            [
                ROUNDED,
                *shared,
                ragged_groups.ROTATED,
                ragged_groups.MISREAD,
                product_types.SATURATED,
                ROUNDED,
                REPEATED,
                truncated_nans.LABEL,
            ],
        ),
        (TPU, [ROUNDED, *shared, THREE]),
    ):
        assert [one.label for one in contraction_hypotheses(platform)] == labels


def test_classes_of_convolutions_by_hardware() -> None:
    labels = {
        platform: [one.label for one in convolution_hypotheses(platform)]
        for platform in (CPU, GPU, TPU)
    }
    of_gpu = {added_groups.LABEL, dilated_kernels.LABEL}
    in_loops = products_in_loops.IN_F16
    assert {*labels[GPU]} - {*labels[CPU]} == {*of_gpu, ROUNDED, EXCHANGED, in_loops}
    assert {*labels[TPU]} - {*labels[CPU]} == {ROUNDED, EXCHANGED}
    assert labels[GPU][0] == labels[TPU][0] == ROUNDED
    for found in labels.values():
        assert {FLUSHED, TRANSFORMED, unreversed.LABEL} <= {*found}
        assert len(found) == len({*found})


WINDOW = parse_module("""
func.func @main(%x: tensor<1x3x1xf32>, %y: tensor<3x1x1xf32>) -> tensor<1x1x1xf32> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}""").subject


@pytest.mark.parametrize(("ulps", "explained"), [(0, True), (1, True), (2, True), (4, False)])
def test_transforms_make_exact_sums_inexact(ulps: int, explained: bool) -> None:
    """The error of 1 + 2 + 3 is 3 u * 6 for the sum and u * 6 for its rounding, 3 ulp."""
    x: Array = array([1, 2, 3]).reshape(1, 3, 1)
    operands = x, np.ones((3, 1, 1), np.float32)
    hypothesis = named(TRANSFORMED, convolution_hypotheses(CPU))
    assert hypothesis.errors is not None
    got = array(6 + ulps * 2.0**-21).reshape(1, 1, 1)
    (errors,) = hypothesis.errors(WINDOW, operands, tuple(apply(WINDOW, operands)), (got,))
    assert bool((errors <= 1).all()) is explained

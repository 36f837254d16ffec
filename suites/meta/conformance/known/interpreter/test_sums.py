"""Sums of products that the interpreter adds in order, in the type of the result."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.interpreter.sums import (
    ALGORITHM_IGNORED,
    STEP_BY_STEP,
    WINDOWS_STEP_BY_STEP,
    stepwise_products,
)
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.types import element_type

BF16 = ml_dtypes.bfloat16
"""A type with 8 bits of precision: 256 + 1 is 256, and 256 + 2 is 258."""


@pytest.mark.parametrize(("order", "total"), [([0, 1, 2], 256), ([1, 2, 0], 258)])
def test_each_sum_is_rounded_in_the_given_order(order: list[int], total: float) -> None:
    row, column = np.array([[256.0, 1, 1]]), np.ones((3, 1))
    found = stepwise_products(row, column, element_type("bf16"), np.array(order))
    assert found.dtype == BF16
    assert found.tolist() == [[total]]


def test_products_are_rounded_before_they_are_added() -> None:
    """The product of 1 + 2^-7 with itself is 1 + 2^-6 + 2^-14, in bf16 without its last term."""
    number = np.array([[1 + 2.0**-7, 1]])
    columns = np.array([[1 + 2.0**-7], [-1 - 2.0**-6]])
    found = stepwise_products(number, columns, element_type("bf16"), np.arange(2))
    assert found.tolist() == [[0.0]]


def test_complex_products_are_two_sums_of_products() -> None:
    row, column = np.array([[1 + 2j, 1j]]), np.array([[3 + 4j], [1j]])
    found = stepwise_products(row, column, element_type("complex<f32>"), np.arange(2))
    assert found.tolist() == [[-6 + 10j]]


def predicted(hypothesis: Hypothesis, text: str, *numbers: object) -> list | None:
    operation = parse_module(text).subject
    types = [operand.type.element.storage for operand in operation.operands]
    operands = tuple(np.array(one).astype(of) for one, of in zip(numbers, types, strict=True))
    assert hypothesis.otherwise is not None
    found = hypothesis.otherwise(operation, operands, tuple(apply(operation, operands)))
    return None if found is None else found[0].astype(np.float64).tolist()


PRODUCT = """
func.func @main(%x: tensor<3x1xT>, %y: tensor<3xT>) -> tensor<1xT> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]OPTIONS
    : (tensor<3x1xT>, tensor<3xT>) -> tensor<1xT>
  return %0 : tensor<1xT>
}"""
X, Y = [[256], [1], [1]], [1, 1, 1]


@pytest.mark.parametrize(("of", "found"), [("bf16", [256.0]), ("f32", [258.0]), ("i32", None)])
def test_products_of_floats_are_added_in_order(of: str, found: list | None) -> None:
    text = PRODUCT.replace("xT>", f"x{of}>").replace("OPTIONS", "")
    assert predicted(STEP_BY_STEP, text, X, Y) == found


ALGORITHM = """, algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16,
  accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
  num_primitive_operations = 1, allow_imprecise_accumulation = false>"""


@pytest.mark.parametrize(
    ("options", "found"),
    [(ALGORITHM, [258 + 2.0**-8]), ("", None)],
)
def test_algorithm_that_rounds_operands_is_ignored(options: str, found: list | None) -> None:
    """The algorithm would round 257.00390625 to 256."""
    text = PRODUCT.replace("xT>", "xf32>").replace("OPTIONS", options)
    assert predicted(ALGORITHM_IGNORED, text, [[257 + 2.0**-8], [1], [0]], Y) == found


WINDOWS = """
func.func @main(%x: tensor<1x3x1xbf16>, %y: tensor<3x1x1xbf16>) -> tensor<1x1x1xbf16> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {reverse = [REVERSED]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x3x1xbf16>, tensor<3x1x1xbf16>) -> tensor<1x1x1xbf16>
  return %0 : tensor<1x1x1xbf16>
}"""


@pytest.mark.parametrize(
    ("reverses", "numbers", "total"),
    [
        ("false", [256, 1, 1], 256),
        ("false", [1, 1, 256], 258),
        ("true", [256, 1, 1], 258),  # the kernel's first element meets the last of the window
        ("true", [1, 1, 256], 256),
    ],
)
def test_windows_are_added_in_the_order_of_the_kernel(
    reverses: str, numbers: list[float], total: float
) -> None:
    x, y = np.reshape(numbers, (1, 3, 1)), np.ones((3, 1, 1))
    text = WINDOWS.replace("REVERSED", reverses)
    assert predicted(WINDOWS_STEP_BY_STEP, text, x, y) == [[[total]]]

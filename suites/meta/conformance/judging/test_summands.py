"""Elements of operands that sums of products read."""

from __future__ import annotations

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.summands import MOST_SUMS, factors_read
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.small_programs import array

PRODUCT = """
func.func @main(%x: tensor<{rows}x3xf32>, %y: tensor<3x2xf32>) -> tensor<{rows}x2xf32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<{rows}x3xf32>, tensor<3x2xf32>) -> tensor<{rows}x2xf32>
  return %0 : tensor<{rows}x2xf32>
}}"""
WINDOWS = """func.func @main(%x: tensor<1x5x1xf32>, %y: tensor<3x1x1xf32>) -> tensor<1x5x1xf32> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x5x1xf32>, tensor<3x1x1xf32>) -> tensor<1x5x1xf32>
  return %0 : tensor<1x5x1xf32>
}"""


def found(text: str, shapes: list[tuple[int, ...]], flat: list[int]) -> list[list[list[int]]]:
    operation: Operation = next(parse_module(text).walk())
    operands: tuple[Array, ...] = tuple(array(np.zeros(shape, np.float32)) for shape in shapes)
    rule = rule_of(operation)
    assert rule is not None
    assert rule.summation is not None
    read = factors_read(operation, operands, rule.summation, np.array(flat))
    return [[factor.tolist() for factor in factors] for factors in read]


def test_a_product_of_matrices_reads_rows_and_columns() -> None:
    each = found(PRODUCT.format(rows=2), [(2, 3), (3, 2)], [0, 3])
    assert each == [[[0, 1, 2], [0, 2, 4]], [[3, 4, 5], [1, 3, 5]]]


def test_a_window_at_an_edge_reads_no_padding() -> None:
    each = found(WINDOWS, [(1, 5, 1), (3, 1, 1)], [0, 2, 4])
    assert each == [[[0, 1], [1, 2]], [[1, 2, 3], [0, 1, 2]], [[3, 4], [0, 1]]]


def test_sums_are_not_searched_if_they_are_many() -> None:
    rows = 1365
    assert rows * 2 * (rows * 3 // 52 + 1) < MOST_SUMS
    ((first, _),) = found(PRODUCT.format(rows=rows), [(rows, 3), (3, 2)], [2 * rows - 1])
    assert first == [3 * rows - 3, 3 * rows - 2, 3 * rows - 1]
    wide = PRODUCT.format(rows=rows).replace("x2x", "x400x")
    assert found(wide, [(rows, 3), (3, 400)], [0]) == [[]]

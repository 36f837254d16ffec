"""Group sizes that the interpreter reads along the first dimensions of lhs."""

from __future__ import annotations

import numpy as np

from conformance.known.interpreter.ragged import MISPLACED
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.types import Array

SIZES = np.array([[1, 1], [2, 0]], np.int32)
"""Sizes of two groups in two batches."""


def predicted(lhs: Array, rhs: Array, result: str, *dimensions: str) -> tuple[list, list] | None:
    """Return the specified results and those predicted; None if they are said to be the same."""
    batching, of_rhs, contracting, ragged, group = dimensions
    x, y = (f"tensor<{'x'.join(map(str, one.shape))}xf32>" for one in (lhs, rhs))
    operation = parse_module(f"""
    func.func @main(%x: {x}, %y: {y}, %g: tensor<2x2xi32>) -> {result} {{
      %0 = "chlo.ragged_dot"(%x, %y, %g) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_batching_dimensions = [{batching}], rhs_batching_dimensions = [{of_rhs}],
        lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [{contracting}],
        lhs_ragged_dimensions = [{ragged}], rhs_group_dimensions = [{group}]>}}>
        : ({x}, {y}, tensor<2x2xi32>) -> {result}
      return %0 : {result}
    }}""").subject
    operands = (lhs.astype(np.float32), rhs.astype(np.float32), SIZES)
    expected = tuple(apply(operation, operands))
    assert MISPLACED.otherwise is not None
    found = MISPLACED.otherwise(operation, operands, expected)
    return None if found is None else (expected[0].tolist(), found[0].tolist())


ROWS = np.array([[[1], [2]], [[3], [4]]])
"""Two rows of two batches."""
OF_GROUPS = np.array([[10, 20], [100, 200]]).reshape(2, 2, 1, 1)
"""Two batches of two groups."""


def test_second_row_belongs_to_the_group_that_the_second_batch_has_there() -> None:
    found = predicted(ROWS, OF_GROUPS, "tensor<2x2x1xf32>", "1", "1", "2", "0", "0")
    right, misread = [[[10], [300]], [[40], [80]]], [[[10], [30]], [[40], [80]]]
    assert found == (right, misread)


def test_sizes_of_the_first_dimension_are_read_right() -> None:
    lhs = np.ascontiguousarray(np.swapaxes(ROWS, 0, 1))
    assert predicted(lhs, OF_GROUPS, "tensor<2x2x1xf32>", "0", "1", "2", "1", "0") is None


def test_sizes_that_fit_no_first_dimension_are_not_predicted() -> None:
    lhs = np.concatenate([ROWS, ROWS[:1]])
    assert predicted(lhs, OF_GROUPS, "tensor<2x3x1xf32>", "1", "1", "2", "0", "0") is None


def test_terms_of_a_ragged_sum_are_chosen_by_the_row() -> None:
    lhs, rhs = np.arange(1, 9).reshape(2, 2, 2), np.ones((2, 2, 1))
    found = predicted(lhs, rhs, "tensor<2x2x2x1xf32>", "1", "0", "1", "2", "")
    right = [[[[1], [5]], [[7], [15]]], [[[2], [6]], [[0], [0]]]]
    misread = [[[[1], [11]], [[3], [15]]], [[[2], [0]], [[4], [0]]]]
    assert found == (right, misread)

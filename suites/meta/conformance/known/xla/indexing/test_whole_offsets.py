"""Updates in place at an offset that is clamped as a whole, as an NVIDIA H200 does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.indexing.whole_offsets import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

OPERAND = np.arange(1.0, 7.0).reshape(2, 3)

PROGRAM = """
func.func @main(%x: tensor<2x3xf64>, %u: tensor<{part}xf64>) -> tensor<2x3xf64> {{
  %i = stablehlo.constant dense<{i}> : tensor<i64>
  %j = stablehlo.constant dense<{j}> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j
    : (tensor<2x3xf64>, tensor<{part}xf64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}}"""


def class_of(i: int, j: int, place: int, hardware: str = Hardware.GPU, rows: int = 1) -> str:
    """Return the class of a result whose update of a column stands at this place of the operand."""
    program = parse_module(PROGRAM.format(i=i, j=j, part=f"{rows}x1"))
    inputs = OPERAND, np.full((rows, 1), 9.0)
    actual = OPERAND.reshape(-1).copy()
    actual[place : place + rows] = 9.0
    expected = evaluate(program, inputs)
    rule = CATALOG["dynamic_update_slice"].tolerance
    judged = judge(program, inputs, expected, (actual.reshape(2, 3),), rule, platform=hardware)
    return judged.kind


@pytest.mark.parametrize(
    ("i", "j", "place"),
    [
        (-1, 1, 0), (-1, 1023, 5), (1, -5, 0), (2**32 + 1, 0, 5),
        (2**59 - 1, 0, 0), (2**59 - 1, 1023, 0),  # the offset in bytes overflows
    ],
)  # fmt: skip
def test_result_measured_on_device_is_predicted(i: int, j: int, place: int) -> None:
    assert class_of(i, j, place) == LABEL
    assert class_of(i, j, place, Hardware.CPU) != LABEL


def test_updates_that_are_not_side_by_side_are_no_copy() -> None:
    assert class_of(0, 5, 0, rows=2) != LABEL


SCATTER = """
func.func @main(%x: tensor<2x3xf64>, %u: tensor<{part}xf64>) -> tensor<2x3xf64> {{
  %i = stablehlo.constant dense<{index}> : tensor<{count}x{of}>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [{window}], inserted_window_dims = [{inserted}],
    scatter_dims_to_operand_dims = [{dims}], index_vector_dim = 0>}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    stablehlo.return %b : tensor<f64>
  }}) : (tensor<2x3xf64>, tensor<{count}x{of}>, tensor<{part}xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}}"""
OF_ONE = {"part": "1", "count": 1, "window": "0", "inserted": "1", "dims": "1"}
OF_A_ROW = {"part": "3", "count": 1, "window": "0", "inserted": "0", "dims": "0"}
OF_A_COLUMN = {"part": "2", "count": 1, "window": "0", "inserted": "1", "dims": "1"}


def class_of_scatter(
    attributes: Mapping[str, object], index: int, got: list[float], of: str, on: str = Hardware.GPU
) -> str:
    program = parse_module(SCATTER.format(index=index, of=of, **attributes))
    inputs = OPERAND, np.full(int(str(attributes["part"])), 9.0)
    expected = evaluate(program, inputs)
    rule = CATALOG["scatter"].tolerance
    actual = (np.array(got, np.float64).reshape(2, 3),)
    return judge(program, inputs, expected, actual, rule, platform=on).kind


@pytest.mark.parametrize(
    ("attributes", "index", "of", "got"),
    [
        (OF_ONE, 4294443007, "ui32", [1, 2, 3, 4, 5, 3]),  # 3 is at the clamped position
        (OF_ONE, 4, "i32", [1, 2, 3, 4, 3, 6]),
        (OF_A_ROW, 2**63 - 1, "i64", [4, 5, 6, 4, 5, 6]),  # the offset in bytes is -24
    ],
)
def test_a_dropped_window_is_written_back_elsewhere(
    attributes: Mapping[str, object], index: int, of: str, got: list[float]
) -> None:
    assert class_of_scatter(attributes, index, [1, 2, 3, 4, 5, 6], of) == ""
    assert class_of_scatter(attributes, index, got, of) == LABEL
    assert class_of_scatter(attributes, index, got, of, Hardware.CPU) not in (LABEL, "")
    assert class_of_scatter(attributes, index, [7, 2, 3, 4, 5, 6], of) not in (LABEL, "")


def test_windows_in_bounds_or_not_contiguous_are_right() -> None:
    assert class_of_scatter(OF_ONE, 1, [1, 2, 3, 4, 9, 6], "i32") not in (LABEL, "")
    assert class_of_scatter(OF_A_COLUMN, 9, [1, 2, 3, 4, 5, 3], "i32") not in (LABEL, "")

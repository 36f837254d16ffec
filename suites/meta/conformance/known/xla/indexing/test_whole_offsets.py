"""Updates in place at an offset that is clamped as a whole, as an NVIDIA H200 does."""

from __future__ import annotations

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

"""64-bit indices of which the low 32 bits are used."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.indexing.truncated import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

SLICE = """
func.func @main(%x: tensor<4xf32>, %i: tensor<i64>) -> tensor<1xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<i64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""


@pytest.mark.parametrize(
    ("actual", "platform", "is_told"),
    [
        (1.0, Hardware.TPU, True),  # 2^32 + 1 is beyond the end, its low word is 1
        (1.0, Hardware.GPU, False),
        (2.0, Hardware.TPU, False),
    ],
)
def test_a_slice_by_the_low_word_of_its_index(actual: float, platform: str, is_told: bool) -> None:
    program = parse_module(SLICE)
    inputs = [np.arange(4, dtype=np.float32), np.array(2**32 + 1)]
    expected = evaluate(program, inputs)
    assert expected[0] == [3.0]
    found = judge_operation(program, inputs, expected, [np.array([actual], np.float32)], platform)
    assert found.verdict.fails
    assert (found.kind == LABEL) == is_told

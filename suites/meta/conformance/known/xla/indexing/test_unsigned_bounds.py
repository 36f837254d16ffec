"""Slices whose unsigned limits are read as signed when they are folded."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.interpreter.indices import LABEL
from conformance.known.xla.indexing.unsigned_bounds import SIGNED_LIMITS
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

TEXT = """
func.func @main(%x: tensor<3x17xi32>) -> tensor<RESULTxi32> {
  %a = stablehlo.constant dense<START> : tensor<2xui4>
  %b = stablehlo.constant dense<LIMIT> : tensor<2xui4>
  %s = stablehlo.constant dense<[1, 5]> : tensor<2xui4>
  %0 = stablehlo.real_dynamic_slice %x, %a, %b, %s
    : (tensor<3x17xi32>, tensor<2xui4>, tensor<2xui4>, tensor<2xui4>) -> tensor<RESULTxi32>
  return %0 : tensor<RESULTxi32>
}"""


@pytest.mark.parametrize(
    ("start", "limit", "result", "is_explained"),
    [
        # as XLA's CPU folds them: 15 is -1, and what is found at the start is repeated
        ([0, 1], [3, 15], [[101, 118, 135]] * 3, True),
        ([1, 1], [3, 15], [[118, 135, 118], [135, 118, 135]], True),
        ([1, 1], [3, 15], [[101, 135, 135], [118, 118, 136]], False),
        ([0, 1], [3, 15], [[100] * 3] * 3, False),
        ([0, 1], [2, 7], [[101, 118], [101, 118]], False),  # 7 is itself
        ([0, 8], [3, 15], [[108, 125], [142, 108], [125, 142]], False),  # a start of -8
    ],
)
def test_limits_are_read_as_signed(
    start: list[int], limit: list[int], result: list[list[int]], is_explained: bool
) -> None:
    actual = np.array(result, np.int32)
    shape = "x".join(map(str, actual.shape))
    text = TEXT.replace("RESULT", shape).replace("START", str(start)).replace("LIMIT", str(limit))
    program = parse_module(text)
    inputs = [np.arange(100, 151, dtype=np.int32).reshape(3, 17)]
    expected = evaluate(program, inputs)
    rule = CATALOG[program.subject.name].tolerance
    found = judge(program, inputs, expected, [actual], rule)
    assert found.verdict.fails
    assert (found.kind == LABEL) == is_explained


def test_limits_that_are_not_negative_as_signed_predict_nothing() -> None:
    operand = np.arange(16)
    for limit, found in ((200, [0] * 4), (10, None)):
        bounds = tuple(np.array([one], np.uint8) for one in (0, limit, 1))
        assert SIGNED_LIMITS.otherwise is not None
        other = SIGNED_LIMITS.otherwise(None, (operand, *bounds), (operand[:4],))  # type: ignore[arg-type]
        assert (None if other is None else other[0].tolist()) == found

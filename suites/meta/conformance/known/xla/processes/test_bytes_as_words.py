"""Reductions in 16 bits that read two rows of 8 bits as one row."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.processes.bytes_as_words import LABEL
from conformance.known.xla.result_types import narrow_bodies
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import element_type

MINIMUM = """
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2x1xf8E5M2>) -> tensor<1x1xbf16> {
    %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
        scatter_dimension = 0 : i64}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %1 = stablehlo.minimum %a, %b : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<2x1xf8E5M2>) -> tensor<1x1xbf16>
    return %0 : tensor<1x1xbf16>
  }
}
"""


@pytest.mark.parametrize(
    ("actual", "platform", "kinds"),
    [
        ((2, 1), Hardware.TPU, {LABEL}),
        ((2, 2), Hardware.TPU, {"wrong value", LABEL}),
        ((1, 1), Hardware.TPU, {narrow_bodies.LABEL}),
        ((2, 1), Hardware.CPU, {"wrong value", narrow_bodies.LABEL}),
    ],
)
def test_rows_of_bytes_as_words_are_of_the_class(
    actual: tuple[float, float], platform: str, kinds: set[str]
) -> None:
    """Rows (1, 2) are the word 0x403C and rows (2, 1) are 0x3C40, which is less as bf16, too."""
    program, byte = parse_module(MINIMUM), element_type("f8E5M2").storage
    inputs = [np.array(rows).reshape(2, 1).astype(byte) for rows in ([1, 2], [2, 1])]
    expected = evaluate(program, inputs)
    assert [float(one[0, 0]) for one in expected] == [1, 1]
    got = [np.full((1, 1), one).astype(byte) for one in actual]
    rule = CATALOG["reduce_scatter"].tolerance
    found = judge(program, inputs, expected, got, rule, platform=platform)
    assert {one.kind for one in found.failing} == kinds

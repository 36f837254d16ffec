"""Updates of a ragged_all_to_all that an NVIDIA H200 does not send."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.known.xla.processes.first_updates import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate

EXCHANGE = """
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<2xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
    %from = stablehlo.constant dense<[FROM]> : tensor<TABLExi64>
    %size = stablehlo.constant dense<[SIZE]> : tensor<TABLExi64>
    %to = stablehlo.constant dense<[TO]> : tensor<TABLExi64>
    %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %from, %size, %to, %size)
      {api_version = 4 : i32, backend_config = {replica_groups = dense<0> : tensor<1x1xi64>}}
      : (tensor<2xf32>, tensor<5xf32>, tensor<TABLExi64>, tensor<TABLExi64>, tensor<TABLExi64>,
         tensor<TABLExi64>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
}
"""
INPUT, OUTPUT = [7.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0]


def class_of(numbers: dict[str, str], table: str, actual: list[float], on: str) -> str:
    text = EXCHANGE.replace("TABLE", table)
    for name, number in numbers.items():
        text = text.replace(name, number)
    program = parse_module(text)
    inputs = [np.array(one, np.float32) for one in (INPUT, OUTPUT)]
    rule = rule_of(program.subject)
    assert rule is not None
    got = [np.array(actual, np.float32)]
    return judge(program, inputs, evaluate(program, inputs), got, rule, platform=on).kind


TWO = {"FROM": "[1, 0, 0]", "SIZE": "[1, 2, 0]", "TO": "[4, 1, 0]"}
ONE = {"FROM": "[1]", "SIZE": "[1]", "TO": "[4]"}


@pytest.mark.parametrize(
    ("numbers", "table", "actual", "on", "is_known"),
    [
        (TWO, "1x3", [1, 2, 3, 4, 8], Hardware.GPU, True),
        (TWO, "1x3", [1, 7, 8, 4, 5], Hardware.GPU, False),
        (TWO, "1x3", [1, 2, 3, 4, 7], Hardware.GPU, False),
        (TWO, "1x3", [1, 2, 3, 4, 8], Hardware.CPU, False),
        (ONE, "1x1", [1, 2, 3, 4, 5], Hardware.GPU, False),
    ],
)
def test_only_the_first_update_is_sent(
    numbers: dict[str, str], table: str, actual: list[float], on: str, is_known: bool
) -> None:
    assert class_of(numbers, table, actual, on) == (LABEL if is_known else "wrong value")

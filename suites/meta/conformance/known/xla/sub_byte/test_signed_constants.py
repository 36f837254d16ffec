"""Comparisons of four bits with a negative constant, as the code for an NVIDIA H200 folds them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sub_byte.signed_constants import COMPARED
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import from_mlir


def kind_of(of: str, given: list[float], comparison: str, constant: str, got: bool, on: str) -> str:
    program = parse_module(f"""
    func.func @main(%x: tensor<2x{of}>) -> tensor<2xi1> {{
      %c = stablehlo.constant dense<{constant}> : tensor<2x{of}>
      %0 = stablehlo.compare {comparison} : (tensor<2x{of}>, tensor<2x{of}>) -> tensor<2xi1>
      return %0 : tensor<2xi1>
    }}""")
    inputs = (np.array(given).astype(from_mlir(of).storage),)
    actual = (np.full(2, got),)
    return judge_operation(program, inputs, evaluate(program, inputs), actual, platform=on).kind


FLOATS, INTEGERS = [-6.0, -4.0], [-8.0, 7.0]


PREDICTED = [
    ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "-4.0", True),
    ("f4E2M1FN", "LT, %x, %c, TOTALORDER", "-4.0", False),
    ("f4E2M1FN", "LT, %c, %x, TOTALORDER", "-0.0", True),
    ("f4E2M1FN", "GT, %c, %x, TOTALORDER", "-0.0", False),
    ("f4E2M1FN", "GE, %x, %c, TOTALORDER", "-6.0", False),
    ("f4E2M1FN", "LE, %c, %x, TOTALORDER", "-6.0", False),
    ("i4", "GE, %x, %c", "-8", False),
    ("i4", "LE, %c, %x", "-8", False),
]
NOT_PREDICTED = [
    ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "-6.0", False),
    ("f4E2M1FN", "GE, %x, %c, TOTALORDER", "-4.0", False),
    ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "0.0", True),
    ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "[-4.0, -3.0]", True),
    ("f4E2M1FN", "GT, %x, %c, FLOAT", "-4.0", True),
    ("i4", "GE, %x, %c", "-7", False),
    ("i4", "GT, %x, %c", "-7", True),
    ("i4", "GE, %c, %x", "-8", False),
]
CASES = [
    *((Hardware.GPU, one, True) for one in PREDICTED),
    *((Hardware.GPU, one, False) for one in NOT_PREDICTED),
    *((Hardware.CPU, one, False) for one in PREDICTED),
]


@pytest.mark.parametrize(("platform", "case", "is_predicted"), CASES)
def test_only_what_a_gpus_code_gives_is_predicted(
    platform: str, case: tuple[str, str, str, bool], is_predicted: bool
) -> None:
    of, comparison, constant, got = case
    given = INTEGERS if of == "i4" else FLOATS
    kind = kind_of(of, given, comparison, constant, got, platform)
    assert kind, "a result that is wrong passes"
    assert (kind == COMPARED) is is_predicted

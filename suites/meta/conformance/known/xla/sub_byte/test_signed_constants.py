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


def kind_of(
    of: str, given: list[float], comparison: str, constant: str, got: bool, on: str = Hardware.GPU
) -> str:
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


@pytest.mark.parametrize(
    ("of", "comparison", "constant", "got"),
    [
        ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "-4.0", True),
        ("f4E2M1FN", "LT, %x, %c, TOTALORDER", "-4.0", False),
        ("f4E2M1FN", "LT, %c, %x, TOTALORDER", "-0.0", True),
        ("f4E2M1FN", "GT, %c, %x, TOTALORDER", "-0.0", False),
        ("f4E2M1FN", "GE, %x, %c, TOTALORDER", "-6.0", False),
        ("f4E2M1FN", "LE, %c, %x, TOTALORDER", "-6.0", False),
        ("i4", "GE, %x, %c", "-8", False),
        ("i4", "LE, %c, %x", "-8", False),
    ],
)
def test_results_by_the_code_are_predicted(
    of: str, comparison: str, constant: str, got: bool
) -> None:
    given = INTEGERS if of == "i4" else FLOATS
    assert kind_of(of, given, comparison, constant, got) == COMPARED
    assert kind_of(of, given, comparison, constant, got, on=Hardware.CPU) not in (COMPARED, "")


@pytest.mark.parametrize(
    ("of", "comparison", "constant", "got"),
    [
        ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "-6.0", False),
        ("f4E2M1FN", "GE, %x, %c, TOTALORDER", "-4.0", False),
        ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "0.0", True),
        ("f4E2M1FN", "GT, %x, %c, TOTALORDER", "[-4.0, -3.0]", True),
        ("f4E2M1FN", "GT, %x, %c, FLOAT", "-4.0", True),
        ("i4", "GE, %x, %c", "-7", False),
        ("i4", "GT, %x, %c", "-7", True),
        ("i4", "GE, %c, %x", "-8", False),
    ],
)
def test_results_of_right_code_are_not(of: str, comparison: str, constant: str, got: bool) -> None:
    given = INTEGERS if of == "i4" else FLOATS
    assert kind_of(of, given, comparison, constant, got) not in (COMPARED, "")

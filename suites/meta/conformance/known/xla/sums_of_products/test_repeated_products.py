"""Products of eight bits that a kernel of an NVIDIA H200 adds twice."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.repeated_products import REPEATED
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES

X, Y = [[3, -5], [127, 127], [0, 0]], [[2, 127], [7, 127]]
SUMS = [[-29, -254], [1143, 32258], [0, 0]]


def class_of(of: str, to: str, got: object, on: str = Hardware.GPU) -> str:
    program = parse_module(f"""
    func.func @main(%x: tensor<3x2x{of}>, %y: tensor<2x2x{of}>) -> tensor<3x2x{to}> {{
      %0 = stablehlo.dot %x, %y : (tensor<3x2x{of}>, tensor<2x2x{of}>) -> tensor<3x2x{to}>
      return %0 : tensor<3x2x{to}>
    }}""")
    element_type, result = (ELEMENT_TYPES[f"s{one}"].storage for one in (of, to))
    inputs = np.array(X).astype(element_type), np.array(Y).astype(element_type)
    actual = (np.array(got).astype(result),)
    return judge_operation(program, inputs, evaluate(program, inputs), actual, platform=on).kind


def test_sums_are_doubled() -> None:
    twice = np.array(SUMS) * 2
    assert class_of("i8", "i32", SUMS) == ""
    assert class_of("i8", "i32", twice) == REPEATED
    assert class_of("i8", "i32", twice, on=Hardware.CPU) not in (REPEATED, "")


@pytest.mark.parametrize("factor", [0, 3])
def test_other_multiples_have_no_class(factor: int) -> None:
    assert class_of("i8", "i32", np.array(SUMS) * factor) not in (REPEATED, "")


@pytest.mark.parametrize(("of", "to"), [("i8", "i16"), ("i16", "i32"), ("i32", "i32")])
def test_only_integers_of_eight_bits_are_added_twice_in_si32(of: str, to: str) -> None:
    assert class_of(of, to, np.array(SUMS) * 2) not in (REPEATED, "")

"""Results whose size was set, of which only the first element of each byte is written."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.sub_byte.dynamic_results import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES

MAXIMUM = """
func.func @main(%x: tensor<6x{of}>, %n: tensor<i32>) -> tensor<6x{of}> {{
  %y = stablehlo.constant dense<[0, 1, 0, 1, 1, 0]> : tensor<6x{of}>
  %0 = stablehlo.{first} : (tensor<6x{of}>{more}) -> tensor<6x{of}>
  %1 = stablehlo.maximum %0, %y : tensor<6x{of}>
  return %1 : tensor<6x{of}>
}}"""
CUT, MORE = "set_dimension_size %x, %n, dim = 0", ", tensor<i32>"
REVERSE = "reverse %x, dims = [0]"


def class_of(text: str, got: list[int], of: str, on: str) -> str:
    """Return the class of a result of the operand 3, 3, 3, 3, 3, 3; "" if it is right."""
    storage = ELEMENT_TYPES[of].storage
    program, inputs = parse_module(text), (np.full(6, 3).astype(storage), np.array(6, np.int32))
    actual = (np.array(got).astype(storage),)
    rule = RULES["data"]
    return judge(program, inputs, evaluate(program, inputs), actual, rule, platform=on).kind


@pytest.mark.parametrize(
    ("of", "first", "got", "on", "is_known"),
    [
        # measured: 0 in place of 3, also where the constant is 1
        ("si4", CUT, [3, 0, 3, 0, 3, 0], Hardware.GPU, True),
        ("si4", CUT, [3, 0, 3, 3, 3, -5], Hardware.GPU, True),
        ("ui2", CUT, [3, 0, 1, 2, 3, 0], Hardware.GPU, True),
        ("si4", CUT, [3, 0, 0, 3, 3, 3], Hardware.GPU, False),  # the first of a byte
        ("si4", CUT, [3, 0, 3, 0, 3, 0], Hardware.CPU, False),
        ("si8", CUT, [3, 0, 3, 0, 3, 0], Hardware.GPU, False),
        ("si4", REVERSE, [3, 0, 3, 0, 3, 0], Hardware.GPU, False),
    ],
)
def test_elements_behind_the_first_of_a_byte_of_a_sized_result_are_not_written(
    of: str, first: str, got: list[int], on: str, is_known: bool
) -> None:
    name = of.replace("si", "i")
    text = MAXIMUM.format(of=name, first=first, more=MORE if first == CUT else "")
    assert (class_of(text, got, of, on) == LABEL) == is_known


@pytest.mark.parametrize("result", ["%2", "%1"])
def test_a_result_of_another_shape_has_no_size(result: str) -> None:
    """The size of a reduced dimension is used up, and elements of a byte are written."""
    kind = "tensor<6xi4>" if result == "%1" else "tensor<2xi4>"
    text = f"""
    func.func @main(%x: tensor<6xi4>, %n: tensor<i32>) -> {kind} {{
      %c = stablehlo.constant dense<0> : tensor<i4>
      %0 = stablehlo.{CUT} : (tensor<6xi4>{MORE}) -> tensor<6xi4>
      %1 = stablehlo.negate %0 : tensor<6xi4>
      %r = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0]
        : (tensor<6xi4>, tensor<i4>) -> tensor<i4>
      %2 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<i4>) -> tensor<2xi4>
      return {result} : {kind}
    }}"""
    got = [-3, 5] * 3 if result == "%1" else [0, 5]
    assert (class_of(text, got, "si4", Hardware.GPU) == LABEL) == (result == "%1")

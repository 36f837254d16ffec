"""Elements of two bits, as kernels of an NVIDIA H200 read them in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sub_byte.packed_elements import READ
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES, Array


def stored(values: object, element_type: str) -> Array:
    return np.array(values).astype(ELEMENT_TYPES[element_type].storage)


def class_of(
    program: Program, inputs: tuple[Array, ...], *actual: Array, on: str = Hardware.GPU
) -> str:
    expected = evaluate(program, inputs)
    return judge_operation(program, inputs, expected, actual, platform=on).kind


PRODUCT = parse_module("""
func.func @main(%x: tensor<8xui2>, %y: tensor<8x2xui2>) -> tensor<2xui32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
    : (tensor<8xui2>, tensor<8x2xui2>) -> tensor<2xui32>
  return %0 : tensor<2xui32>
}""")
LHS, RHS = (
    [1, 0, 2, 0, 0, 3, 1, 1],
    [[1, 2], [3, 0], [0, 1], [2, 2], [1, 1], [0, 3], [2, 0], [1, 3]],
)


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ([1, 0, 1, 0, 0, 3, 0, 3], RHS),
        (LHS, [[1, 2], [1, 2], [0, 1], [0, 1], [1, 1], [1, 1], [2, 0], [2, 0]]),
        # its columns are rows in memory
        ([1, 0, 1, 0, 0, 3, 0, 3], [*RHS[:2], *RHS[:2], *RHS[4:6], *RHS[4:6]]),
    ],
)
def test_first_pair_of_a_byte_stands_for_the_second(lhs: list[int], rhs: list[list[int]]) -> None:
    inputs = stored(LHS, "ui2"), stored(RHS, "ui2")
    (got,) = evaluate(PRODUCT, (stored(lhs, "ui2"), stored(rhs, "ui2")))
    assert class_of(PRODUCT, inputs, got) == READ
    assert class_of(PRODUCT, inputs, got, on=Hardware.CPU) != READ
    assert class_of(PRODUCT, inputs, got + np.uint32(1)) != READ


def test_the_second_operand_of_a_dot_is_read_by_columns() -> None:
    program = parse_module("""
    func.func @main(%x: tensor<2x2xi2>, %y: tensor<2x2xi2>) -> tensor<2x2xi2> {
      %0 = stablehlo.dot %x, %y : (tensor<2x2xi2>, tensor<2x2xi2>) -> tensor<2x2xi2>
      return %0 : tensor<2x2xi2>
    }""")
    inputs = stored([[0, 1], [0, 0]], "si2"), stored([[0, 0], [1, 0]], "si2")
    assert class_of(program, inputs, stored([[1, 1], [1, 1]], "si2")) == READ
    assert class_of(program, inputs, stored([[1, 1], [0, 0]], "si2")) == READ
    assert class_of(program, inputs, stored([[1, 0], [0, 1]], "si2")) != READ

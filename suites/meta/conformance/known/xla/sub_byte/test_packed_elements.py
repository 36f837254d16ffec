"""Elements of less than a byte, as kernels of an NVIDIA H200 confuse them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sub_byte.packed_elements import READ, STORED, UNSORTED, UNWRITTEN
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES, Array

NO_PERMUTATION = "no permutation of the elements"


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


def _joined(of: str, *sizes: int) -> Program:
    (first, second), size = sizes, sum(sizes)
    return parse_module(f"""
func.func @main(%x: tensor<{first}x{of}>, %y: tensor<{second}x{of}>) -> tensor<{size}x{of}> {{
  %0 = stablehlo.concatenate %x, %y, dim = 0
    : (tensor<{first}x{of}>, tensor<{second}x{of}>) -> tensor<{size}x{of}>
  return %0 : tensor<{size}x{of}>
}}""")


X, Y = [1, 1, 2, 0, 3, 1], [1, 0, 3, 3, 2, 1, 0, 1]


@pytest.mark.parametrize(
    ("x", "y", "of", "got", "is_known"),
    [
        # measured
        ([0, 0, 0, 0, 0, 1], [0] * 8, "si2", [0] * 14, True),
        # the last or the first of two threads stores the byte
        (X, Y, "ui2", [1, 1, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 2, 1], True),
        (X, Y, "ui2", [1, 1, 0, 0, 3, 1, 0, 0, 1, 0, 0, 0, 2, 1], True),
        (X, Y, "ui2", [1, 1, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 1, 1], False),
        (X, Y, "ui2", [1, 1, 1, 1, 1, 0, 0, 0, 2, 1, 0, 0, 2, 1], False),
        # elements, or whole bytes, are copied in place of pairs
        (X[:5], Y, "ui2", [1, 1, 0, 0, 3, 0, 0, 0, 3, 3, 0, 0, 0], False),
        (X[:4], Y, "ui2", [1, 1, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0], False),
        # a byte has two elements
        ([1, 0], [0, 0], "ui4", [0, 0, 0, 0], False),
    ],
)
def test_pairs_of_a_concatenate_are_stored_as_bytes(
    x: list[int], y: list[int], of: str, got: list[int], is_known: bool
) -> None:
    program = _joined(of.replace("si", "i"), len(x), len(y))
    inputs = stored(x, of), stored(y, of)
    assert (class_of(program, inputs, stored(got, of)) == STORED) == is_known
    assert class_of(program, inputs, stored(got, of), on=Hardware.CPU) != STORED


def test_pairs_of_a_concatenate_of_columns_are_stored_as_bytes() -> None:
    program = parse_module("""
    func.func @main(%x: tensor<2x2xui2>, %y: tensor<2x4xui2>) -> tensor<2x6xui2> {
      %0 = stablehlo.concatenate %x, %y, dim = 1
        : (tensor<2x2xui2>, tensor<2x4xui2>) -> tensor<2x6xui2>
      return %0 : tensor<2x6xui2>
    }""")
    inputs = stored([[1, 2], [3, 0]], "ui2"), stored([[1, 1, 2, 2], [3, 3, 0, 1]], "ui2")
    got = stored([[1, 1, 0, 0, 1, 2], [0, 0, 3, 3, 0, 0]], "ui2")
    assert class_of(program, inputs, got) == STORED


def _sized(of: str, size: int) -> Program:
    return parse_module(f"""
func.func @main(%x: tensor<{size}x{of}>, %n: tensor<i32>) -> tensor<{size}x{of}> {{
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0
    : (tensor<{size}x{of}>, tensor<i32>) -> tensor<{size}x{of}>
  return %0 : tensor<{size}x{of}>
}}""")


@pytest.mark.parametrize(
    ("of", "given", "got", "is_known"),
    [
        # measured: elements behind the first of a byte are what memory held
        ("si4", [-1, 4, 1, 0, 0, 1, 1, 0, 0, 0], [-1, -2, 1, -5, 0, 1, 1, -5, 0, 2], True),
        ("f4E2M1FN", [4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0],
         [4.0, 0.0, -0.0, 0.0, -1.0, 0.0, -2.0], True),
        ("ui2", [3, 0, 1, 2, 3], [3, 1, 1, 1, 3], True),
        ("ui2", [3, 0, 1, 2, 3], [1, 0, 1, 2, 3], False),  # the first of a byte
        ("ui2", [3, 0, 1, 2, 3], [3, 1, 1, 1, 2], False),
        ("ui8", [3, 0, 1, 2], [3, 1, 1, 2], False),
    ],
)  # fmt: skip
def test_elements_behind_the_first_of_a_byte_are_not_written(
    of: str, given: list[Any], got: list[Any], is_known: bool
) -> None:
    inputs = stored(given, of), np.array(len(given), np.int32)
    program = _sized(of.replace("si", "i"), len(given))
    assert (class_of(program, inputs, stored(got, of)) == UNWRITTEN) == is_known
    assert class_of(program, inputs, stored(got, of), on=Hardware.CPU) != UNWRITTEN


ROWS = parse_module("""
func.func @main(%x: tensor<3x7xui2>) -> tensor<3x7xui2> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<ui2>, %b: tensor<ui2>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<ui2>, tensor<ui2>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<3x7xui2>) -> tensor<3x7xui2>
  return %0 : tensor<3x7xui2>
}""")


@pytest.mark.parametrize(
    ("wrong", "on", "is_known"),
    [
        ({(1, 0): 2, (2, 0): 1}, Hardware.GPU, True),  # measured: they are the operand's
        ({(2, 0): 0}, Hardware.GPU, False),
        ({(2, 4): 3}, Hardware.GPU, False),  # the operand's, in a byte of one row
        ({(1, 0): 2, (2, 0): 1}, Hardware.CPU, False),
    ],
)
def test_rows_of_a_sort_share_bytes(
    wrong: dict[tuple[int, int], int], on: str, is_known: bool
) -> None:
    given = stored([[1, 1, 0, 3, 0, 2, 3], [2, 1, 1, 2, 3, 3, 0], [1, 1, 1, 1, 3, 0, 1]], "ui2")
    (got,) = evaluate(ROWS, (given,))
    for place, value in wrong.items():
        got[place] = value
    assert (class_of(ROWS, (given,), got, on=on) == UNSORTED) == is_known


def test_row_keeps_all_of_its_elements_in_a_byte() -> None:
    """The first row ends, and the second begins, with two elements of the same byte."""
    text = """
func.func @main(%x: tensor<2x6xui2>) -> tensor<2x6xui2> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<ui2>, %b: tensor<ui2>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<ui2>, tensor<ui2>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<2x6xui2>) -> tensor<2x6xui2>
  return %0 : tensor<2x6xui2>
}"""
    given = stored([[3, 2, 2, 1, 1, 0], [3, 3, 2, 1, 0, 0]], "ui2")
    program = parse_module(text)
    (right,) = evaluate(program, (given,))
    whole, part = right.copy(), right.copy()
    whole[0, 4:] = given[0, 4:]
    part[0, 5] = given[0, 5]
    kinds = [class_of(program, (given,), got) for got in (whole, part)]
    assert [kind == UNSORTED for kind in kinds] == [True, False]


PAIRS_BY_KEY = parse_module("""
func.func @main(%x: tensor<2x3xui2>, %y: tensor<2x3xi32>) -> (tensor<2x3xui2>, tensor<2x3xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<ui2>, %b: tensor<ui2>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<ui2>, tensor<ui2>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 1 : i64, is_stable = false}
    : (tensor<2x3xui2>, tensor<2x3xi32>) -> (tensor<2x3xui2>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xui2>, tensor<2x3xi32>
}""")


@pytest.mark.parametrize(
    ("second", "is_known"),
    [([6, 5, 4], True), ([5, 6, 4], True), ([5, 5, 4], False), ([4, 5, 6], False)],
)
def test_other_operands_of_a_row_have_any_permitted_order(
    second: list[int], is_known: bool
) -> None:
    """The key 2 of the second row shares a byte with the first row, and is not replaced by 1."""
    given = stored([[3, 1, 2], [2, 1, 1]], "ui2"), np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    expected = evaluate(PAIRS_BY_KEY, given)
    keys, values = (one.copy() for one in expected)
    keys[1, 0], values[1] = 2, second
    found = judge_operation(PAIRS_BY_KEY, given, expected, (keys, values), platform=Hardware.GPU)
    assert {one.kind for one in found.failing} == {UNSORTED if is_known else NO_PERMUTATION}


@pytest.mark.parametrize(
    ("op", "of", "shape", "is_written"),
    [
        ("and %x, %x", "ui4", "1x2", False), ("or %x, %x", "i2", "2x1", False),
        ("and %x, %x", "ui2", "4", False), ("and %x, %y", "ui4", "1x2", True),
        ("and %x, %x", "ui4", "4", True), ("and %x, %x", "ui2", "3", True),
        ("and %x, %x", "ui8", "2", True), ("and %x, %x", "ui4", "1", True),
    ],
)  # fmt: skip
def test_copy_of_a_byte_is_not_written(op: str, of: str, shape: str, is_written: bool) -> None:
    kind = f"tensor<{shape}x{of}>"
    program = parse_module(f"""
func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{
  %0 = stablehlo.{op} : {kind}
  return %0 : {kind}
}}""")
    name, sizes = of if of.startswith("u") else f"s{of}", tuple(map(int, shape.split("x")))
    given, got = (stored(np.full(sizes, number), name) for number in (1, 0))
    assert (class_of(program, (given, given), got) == UNWRITTEN) == (not is_written)
    assert class_of(program, (given, given), got, on=Hardware.CPU) != UNWRITTEN

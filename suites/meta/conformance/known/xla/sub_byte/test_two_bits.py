"""Integers of two bits beside a negative constant: only results of XLA have the class. The results
are jaxlib's.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sub_byte.two_bits import BYTES, COMPARED, SHIFTED, STORED
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import BOOLEAN, ELEMENT_TYPES, Array

_TWO = ELEMENT_TYPES["si2"].storage
_T = "tensor<4xi2>"


def _elementwise(operation: str, constant: str, result: str = "", of: str = _T) -> Program:
    types = f"({of}, {of}) -> {result}" if result else of
    return parse_module(f"""
func.func @main(%x: {of}) -> {result or of} {{
  %c = stablehlo.constant dense<{constant}> : {of}
  %0 = stablehlo.{operation} : {types}
  return %0 : {result or of}
}}""")


def _kind(program: Program, given: Array, got: Array) -> str:
    return judge_operation(program, (given,), evaluate(program, (given,)), (got,)).kind


def _known_results(program: Program, label: str) -> set[tuple[int, ...]]:
    """Return the results of that class, of -2, -1, 0 and 1."""
    given = np.array([-2, -1, 0, 1]).astype(_TWO)
    (right,) = evaluate(program, (given,))
    numbers = range(2) if right.dtype == BOOLEAN[0].storage else range(-2, 2)
    return {
        got
        for got in product(numbers, repeat=4)
        if _kind(program, given, np.array(got).astype(right.dtype)) == label
    }


@pytest.mark.parametrize(
    ("operation", "constant", "expected"),
    [
        ("compare EQ, %x, %c", -1, 0), ("compare NE, %x, %c", -2, 1),
        ("compare GT, %x, %c", -2, 1), ("compare GE, %x, %c", -2, 0),
        ("compare LT, %c, %x", -2, 1), ("compare LE, %c, %x", -2, 0),
        ("compare LT, %x, %c", -1, None), ("compare GE, %x, %c", -1, None),
        ("compare EQ, %x, %c", 1, None), ("compare LE, %x, %c", -2, None),
    ],
)  # fmt: skip
def test_comparisons_with_a_negative_constant(
    operation: str, constant: int, expected: int | None
) -> None:
    program = _elementwise(operation, str(constant), "tensor<4xi1>")
    assert _known_results(program, COMPARED) == (set() if expected is None else {(expected,) * 4})


@pytest.mark.parametrize(
    ("operation", "constant", "expected"),
    [
        ("maximum %x, %c", "-1", {(-1,) * 4, (0,) * 4}),
        ("maximum %c, %x", "-1", {(-1,) * 4, (0,) * 4}),
        ("maximum %x, %c", "-2", set()),
        ("maximum %x, %c", "[-1, -1, -1, 0]", set()),
        ("clamp %c, %x, %x", "-1", {(-2, -1, -1, -1), (-2, -1, 0, 0)}),
        ("clamp %x, %c, %x", "-1", {(-2, -1, -1, -1), (-2, -1, 0, 0)}),
    ],
)
def test_extrema_with_a_negative_constant(
    operation: str, constant: str, expected: set[tuple[int, ...]]
) -> None:
    assert _known_results(_elementwise(operation, constant), COMPARED) == expected


@pytest.mark.parametrize(
    ("operation", "constant", "expected"),
    [
        ("shift_right_logical %c, %x", "-1", {(0, 0, -1, -1)}),
        ("shift_right_logical %c, %x", "-2", set()),
        ("shift_right_logical %c, %x", "[-1, -1, -1, 0]", set()),
        ("shift_right_logical %x, %c", "-1", set()),
    ],
)
def test_ones_are_shifted_with_their_sign(
    operation: str, constant: str, expected: set[tuple[int, ...]]
) -> None:
    assert _known_results(_elementwise(operation, constant), SHIFTED) == expected


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([-1, 0, 0, 0, -1, 0, 0], COMPARED), ([-1, -1, -2, -1, -1, -1, -2], COMPARED),
        ([0, 0, 0, -1, -1, 0, -1], COMPARED), ([0, -1, -1, -1, -1, -1, -1], COMPARED),
        ([-1, 0, -1, 0, -1, 0, -1], "wrong value"),
    ],
)  # fmt: skip
def test_maxima_of_a_broadcast_and_ones_are_stored_in_parts(got: list[int], expected: str) -> None:
    program = _elementwise("maximum %x, %c", "-1", of="tensor<2x7xi2>")
    given, actual = (
        np.broadcast_to(np.array(one).astype(_TWO), (2, 7)) for one in ([[1], [-2]], got)
    )
    assert _kind(program, given, actual) == expected
    assert _kind(program, np.resize(given[:, 0], (2, 7)), actual) == "wrong value"


@pytest.mark.parametrize(
    ("got", "expected"),
    [([-1, -1, -1, 0], SHIFTED), ([-1, 7, 3, 0], ""), ([-1, -1, -1, -1], "wrong value")],
)
def test_ones_of_four_bits_are_shifted_with_their_sign(got: list[int], expected: str) -> None:
    program = _elementwise("shift_right_logical %c, %x", "-1", of="tensor<4xi4>")
    given, actual = (
        np.array(one).astype(ELEMENT_TYPES["si4"].storage) for one in ([0, 1, 2, 4], got)
    )
    assert _kind(program, given, actual) == expected


def test_clamps_of_a_constant_by_scalars() -> None:
    """The maximum of -1 and a scalar bound is -1, or a part of it, whatever the bound is."""
    program = parse_module("""
func.func @main(%l: tensor<i2>, %h: tensor<i2>) -> tensor<4xi2> {
  %c = stablehlo.constant dense<-1> : tensor<4xi2>
  %0 = stablehlo.clamp %l, %c, %h : (tensor<i2>, tensor<4xi2>, tensor<i2>) -> tensor<4xi2>
  return %0 : tensor<4xi2>
}""")
    inputs = tuple(np.array(one).astype(_TWO) for one in (0, 1))
    expected = evaluate(program, inputs)
    for got, kind in (([-1] * 4, COMPARED), ([1, -1, 1, -1], "wrong value")):
        found = judge_operation(program, inputs, expected, (np.array(got).astype(_TWO),))
        assert found.kind == kind


def test_a_remainder_of_a_constant_is_the_constant_packed_with_its_signs() -> None:
    program = _elementwise("remainder %c, %x", "-2")
    given = np.array([-2, -1, 1, -2]).astype(_TWO)
    got = np.array([-2, -1, -1, -1]).astype(_TWO)
    assert _kind(program, given, got) == STORED
    assert _kind(program, given, np.array([-2, -2, -2, -1]).astype(_TWO)) != STORED


@pytest.mark.parametrize(
    ("constant", "start", "got"),
    [
        (-1, 0, [-1, -1, -1, -1, 0, 1, 1, 0]),
        (-2, 1, [0, -2, -2, -1, 0, 1, 1, 0]),
        (-2, 3, [0, 1, 1, -2, -2, -1, -1, -1]),
    ],
)
def test_sign_bits_of_update_overwrite_following_elements(
    constant: int, start: int, got: list[int]
) -> None:
    program = parse_module(f"""
func.func @main(%x: tensor<8xi2>) -> tensor<8xi2> {{
  %u = stablehlo.constant dense<{constant}> : tensor<2xi2>
  %i = stablehlo.constant dense<{start}> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i
    : (tensor<8xi2>, tensor<2xi2>, tensor<i32>) -> tensor<8xi2>
  return %0 : tensor<8xi2>
}}""")
    given = np.array([0, 1, 1, 0] * 2).astype(_TWO)
    result = np.array(got).astype(_TWO)
    assert _kind(program, given, result) == STORED
    for place in range(8):
        other = result.copy()
        other[place] = 1 if int(result[place]) != 1 else 0
        assert _kind(program, given, other) != STORED


@pytest.mark.parametrize(
    ("body", "indices", "got", "label"),
    [
        ("minimum", "%c", [-2, -1, -1, -1, 1, 0, 1, -1], STORED),
        ("minimum", "%c", [-2, -1, -2, -1, 1, 0, 1, -1], "wrong value"),
        ("minimum", "%i", [-2, -1, -1, -1, 1, 0, 1, -1], "wrong value"),
        ("add", "%c", [-2, -1, -1, -1, 1, 0, 1, -1], "wrong value"),
    ],
)
def test_minima_of_a_constant_overwrite_following_elements(
    body: str, indices: str, got: list[int], label: str
) -> None:
    program = parse_module(f"""
func.func @main(%u: tensor<1xi2>, %i: tensor<2xi64>) -> tensor<2x4xi2> {{
  %x = stablehlo.constant dense<[[-2, 1, -2, -1], [1, 0, 1, -1]]> : tensor<2x4xi2>
  %c = stablehlo.constant dense<0> : tensor<2xi64>
  %0 = "stablehlo.scatter"(%x, {indices}, %u) ({{
  ^bb0(%p: tensor<i2>, %q: tensor<i2>):
    %1 = stablehlo.{body} %p, %q : tensor<i2>
    stablehlo.return %1 : tensor<i2>
  }}) {{
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [0, 1]>
  }} : (tensor<2x4xi2>, tensor<2xi64>, tensor<1xi2>) -> tensor<2x4xi2>
  return %0 : tensor<2x4xi2>
}}""")
    inputs = np.zeros(1).astype(_TWO), np.zeros(2, np.int64)
    actual = np.array(got).astype(_TWO).reshape(2, 4)
    found = judge_operation(program, inputs, evaluate(program, inputs), (actual,))
    assert found.kind == label


def _sort_program(of: str, size: str) -> Program:
    return parse_module(f"""
func.func @main(%x: tensor<{size}x{of}>) -> tensor<{size}x{of}> {{
  %0 = "stablehlo.sort"(%x) ({{
  ^bb0(%a: tensor<{of}>, %b: tensor<{of}>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<{of}>, tensor<{of}>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) {{dimension = 0 : i64}} : (tensor<{size}x{of}>) -> tensor<{size}x{of}>
  return %0 : tensor<{size}x{of}>
}}""")


@pytest.mark.parametrize(
    ("of", "size", "got", "expected"),
    [
        # what stood behind the operand in memory
        ("ui2", "12", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], BYTES),
        ("i2", "12", [-2, -1, 0, 1, -2, -2, -1, 1, -2, -2, -1, 1], BYTES),
        ("ui2", "12", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], "no permutation of the elements"),
        ("ui4", "12", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], "no permutation of the elements"),
        # three bytes are the first of two columns: 0, 1 and 0 begin there
        ("ui2", "6x2", [0, 3, 3, 3, 1, 3, 3, 3, 0, 3, 3, 3], BYTES),
        ("ui2", "6x2", [1, 3, 3, 3, 1, 3, 3, 3, 0, 3, 3, 3], "no permutation of the elements"),
        ("ui2", "1x12", [1] * 12, "no permutation of the elements"),
    ],
)
def test_sorted_bytes_are_in_order(of: str, size: str, got: list[int], expected: str) -> None:
    program = _sort_program(of, size)
    storage = ELEMENT_TYPES[of.replace("i", "si") if of[0] == "i" else of].storage
    shape = tuple(map(int, size.split("x")))
    given, actual = (np.array(one).astype(storage).reshape(shape) for one in ([0, 1] * 6, got))
    found = judge_operation(program, (given,), evaluate(program, (given,)), (actual,))
    assert found.kind == expected
    assert not any(one.predicted for one in found.failing)

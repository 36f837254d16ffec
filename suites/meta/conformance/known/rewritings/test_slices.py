"""Slices of slices whose starts are added up."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.slices import ADDED_STARTS
from reference.ir.types import from_mlir
from suites.meta.support.rewriting import kind_of

PROGRAM = """
func.func @main(%x: tensor<6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [3] : (tensor<6xf32>, tensor<i32>) -> tensor<3xf32>
  %1 = stablehlo.dynamic_slice %0, %j, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}"""


@pytest.mark.parametrize(
    ("starts", "got", "is_explained"),
    [
        ((4, 1), 5, True),  # 4 is right: the first is moved to 3
        ((4, 1), 3, False),
        ((9, -7), 0, True),
        ((9, -7), 2, False),
        ((0, 9), 5, True),
        ((1, 1), 3, False),
    ],
)
def test_starts_are_added_up(starts: tuple[int, int], got: int, is_explained: bool) -> None:
    given = [np.arange(6, dtype=np.float32), *np.array(starts, np.int32)]
    found = kind_of(PROGRAM, [np.asarray(one) for one in given], np.array([got], np.float32))
    assert (found == ADDED_STARTS) == is_explained


@pytest.mark.parametrize(
    ("types", "starts", "got", "is_explained"),
    [
        (("i32", "i64"), (4, 1), 5, True),  # 4 is right
        (("ui8", "i32"), (4, 1), 5, True),
        (("ui8", "i32"), (4, 1), 3, False),
        (("ui2", "i32"), (3, 0), 1, True),  # 3 is right; the bound 5 is 1 in two bits
        (("ui2", "i32"), (3, 1), 2, True),
        (("ui2", "i32"), (3, 1), 5, False),
        (("i32", "i2"), (4, 0), 0, True),  # 4 is 0 in two bits
        (("i32", "i2"), (4, 1), 1, True),
    ],
)
def test_starts_of_two_types_are_added_up_in_the_second(
    types: tuple[str, str], starts: tuple[int, int], got: int, is_explained: bool
) -> None:
    text = PROGRAM
    for name, to in zip("ij", types, strict=True):
        text = text.replace(f"%{name}: tensor<i32>", f"%{name}: tensor<{to}>")
    for of, to in zip((6, 3), types, strict=True):
        text = text.replace(f"(tensor<{of}xf32>, tensor<i32>)", f"(tensor<{of}xf32>, tensor<{to}>)")
    given = [
        np.arange(6, dtype=np.float32),
        *(
            np.asarray(np.array(start).astype(from_mlir(of).storage))
            for start, of in zip(starts, types, strict=True)
        ),
    ]
    found = kind_of(text, given, np.array([got], np.float32))
    assert (found == ADDED_STARTS) == is_explained


GATHER = """
func.func @main(%x: tensor<6x2xf32>, %i: tensor<ui8>, %j: tensor<1x1xui8>) -> tensor<2x1xf32> {
  %z = stablehlo.constant dense<0> : tensor<ui8>
  %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [3, 2]
    : (tensor<6x2xf32>, tensor<ui8>, tensor<ui8>) -> tensor<3x2xf32>
  %1 = "stablehlo.gather"(%0, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [0],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<1x1xui8>) -> tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}"""


@pytest.mark.parametrize(
    ("starts", "got", "is_explained"),
    [
        ((4, 1), 5, True),  # 4 is right: the first is moved to 3
        ((4, 1), 3, False),
        ((0, 9), 5, True),  # 2 is right
        ((5, 252), 1, True),  # the sum overflows
        ((1, 9), 4, False),
    ],
)
def test_a_gather_by_one_index_is_a_slice(
    starts: tuple[int, int], got: int, is_explained: bool
) -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    i, j = np.array(starts, np.uint8)
    found = kind_of(GATHER, [x, np.asarray(i), j.reshape(1, 1)], x[got].reshape(2, 1))
    assert (found == ADDED_STARTS) == is_explained


def test_gathers_by_several_indices_are_no_slices() -> None:
    text = GATHER.replace("1x1xui8", "2x1xui8").replace("tensor<2x1xf32>", "tensor<2x2xf32>")
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    given = [x, np.asarray(np.uint8(0)), np.array([[9], [9]], np.uint8)]
    assert kind_of(text, given, np.stack([x[5], x[5]], 1)) != ADDED_STARTS


OF_THREE = """
func.func @main(%x: tensor<3x3xf32>, %i: tensor<i2>, %j: tensor<ui16>) -> tensor<1x1xf32> {
  %z = stablehlo.constant dense<0> : tensor<i2>
  %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [2, 3]
    : (tensor<3x3xf32>, tensor<i2>, tensor<i2>) -> tensor<2x3xf32>
  %1 = stablehlo.dynamic_slice %0, %j, %j, sizes = [1, 1]
    : (tensor<2x3xf32>, tensor<ui16>, tensor<ui16>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}"""


@pytest.mark.parametrize(
    ("start", "got", "is_explained"), [(0, 8, True), (1, 8, True), (0, 7, False), (1, 5, False)]
)
def test_a_bound_that_is_negative_in_two_bits_is_the_start(
    start: int, got: int, is_explained: bool
) -> None:
    """The bound 2 is -2 in two bits, which is 65534 in the second type: past the end."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    first = np.asarray(np.array(start).astype(from_mlir("i2").storage))
    found = kind_of(OF_THREE, [x, first, np.array(0, np.uint16)], np.array([[got]], np.float32))
    assert (found == ADDED_STARTS) == is_explained

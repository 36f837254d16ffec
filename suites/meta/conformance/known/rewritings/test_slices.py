"""Slices of slices whose starts are added up."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.slices import ADDED_STARTS
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


def test_starts_of_two_types_are_not_added_up() -> None:
    text = PROGRAM.replace("%j: tensor<i32>", "%j: tensor<i64>")
    text = text.replace("(tensor<3xf32>, tensor<i32>)", "(tensor<3xf32>, tensor<i64>)")
    given = [np.arange(6, dtype=np.float32), np.array(4, np.int32), np.array(1, np.int64)]
    assert kind_of(text, given, np.array([5], np.float32)) != ADDED_STARTS


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

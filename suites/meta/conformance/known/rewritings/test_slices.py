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

"""In-place updates by slices of the updated value, in memory order."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.updates import IN_PLACE
from suites.meta.support.rewriting import kind_of

PROGRAM = """
func.func @main(%x: tensor<6xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {
  %0 = stablehlo.slice %x [0:4] : (tensor<6xf32>) -> tensor<4xf32>
  %1 = stablehlo.dynamic_update_slice %x, %0, %i
    : (tensor<6xf32>, tensor<4xf32>, tensor<i32>) -> tensor<6xf32>
  %2 = stablehlo.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}"""


@pytest.mark.parametrize(
    ("start", "got", "is_explained"),
    [
        (1, (0, 0, 0, 0, 0, 5), True),  # 0, 0, 1, 2, 3, 5 is right
        (1, (0, 0, 0, 0, 1, 5), False),
        (9, (0, 1, 0, 1, 0, 1), True),  # the start is moved to 2
        (9, (0, 1, 0, 1, 2, 2), False),
    ],
)
def test_elements_are_read_after_they_were_written(
    start: int, got: tuple[int, ...], is_explained: bool
) -> None:
    given = [np.arange(6, dtype=np.float32), np.asarray(start, np.int32)]
    found = kind_of(PROGRAM, given, np.array(got, np.float32).reshape(2, 3))
    assert (found == IN_PLACE) == is_explained


def test_slice_of_other_value_is_read_unchanged() -> None:
    text = PROGRAM.replace("slice %x [0:4]", "slice %y [0:4]")
    text = text.replace("%i: tensor<i32>)", "%i: tensor<i32>, %y: tensor<6xf32>)")
    given = [np.arange(6, dtype=np.float32), np.asarray(1, np.int32)]
    wrong = np.zeros((2, 3), np.float32)
    assert kind_of(text, [*given, given[0]], wrong) != IN_PLACE


COMPUTED = """
func.func @main(%x: tensor<3xf64>, %v: tensor<2xf64>) -> tensor<3xf64> {
  %at = stablehlo.constant dense<255> : tensor<ui8>
  %0 = stablehlo.dynamic_slice %x, %at, sizes = [2] : (tensor<3xf64>, tensor<ui8>) -> tensor<2xf64>
  %1 = stablehlo.add %v, %0 : tensor<2xf64>
  %2 = stablehlo.dynamic_update_slice %x, %1, %at
    : (tensor<3xf64>, tensor<2xf64>, tensor<ui8>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}"""


@pytest.mark.parametrize(
    ("got", "is_explained"),
    [
        ((5, 6, 8), True),  # from element 0, as the index is read as signed; 6 is read again
        ((5, 6, 7), False),
        ((5, 6, 9), False),
    ],
)
def test_updates_computed_from_a_slice_are_read_while_they_are_written(
    got: tuple[int, ...], is_explained: bool
) -> None:
    given = [np.array([5.0, 4.0, 3.0]), np.array([1.0, 2.0])]
    assert (kind_of(COMPUTED, given, np.array(got, np.float64)) == IN_PLACE) == is_explained


def computed_by_diamonds(count: int) -> str:
    """Return a program whose update is computed in steps; each uses the result before it twice."""
    steps = "".join(
        f"""
  %n{k} = stablehlo.negate %t{k} : tensor<4xf32>
  %t{k + 1} = stablehlo.maximum %t{k}, %n{k} : tensor<4xf32>"""
        for k in range(count)
    )
    return PROGRAM.replace("%0 =", "%t0 =").replace("%x, %0,", f"%x, %t{count},").replace(
        "  %1 =", f"{steps}\n  %1 ="
    )  # fmt: skip


@pytest.mark.parametrize(
    ("got", "is_explained"),
    [
        ((-1, 1, 1, 1, 1, 6), True),  # -1, 1, 2, 3, 4, 6 is right
        ((1, 1, 1, 1, 1, 6), False),
        ((-1, 1, 1, 1, 2, 6), False),
    ],
)
def test_values_used_twice_are_computed_once(got: tuple[int, ...], is_explained: bool) -> None:
    given = [np.array([-1, 2, -3, 4, 5, 6], np.float32), np.asarray(1, np.int32)]
    wrong = np.array(got, np.float32).reshape(2, 3)
    assert (kind_of(computed_by_diamonds(40), given, wrong) == IN_PLACE) == is_explained

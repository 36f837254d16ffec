"""Products that are moved before they are added."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.contraction.moves import CONTRACTED, moved_operands, positions
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from suites.meta.support.rewriting import kind_of

MOVED = """
func.func @main(%x: tensor<2xf32>, %z: tensor<2xf32>, %i: tensor<i64>) -> tensor<2xf32> {{
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %true = stablehlo.constant dense<true> : tensor<2xi1>
  %both = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %0 = stablehlo.multiply %x, %x : tensor<2xf32>
  {moved}
  %2 = stablehlo.add %1, %z : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""
JOINED = """%a = stablehlo.slice %z [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %b = stablehlo.slice %0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %1 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>"""
PADDED = """%b = stablehlo.slice %0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %1 = stablehlo.pad %b, %least, low = [1], high = [0], interior = [0]
    : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>"""
DYNAMIC = """%1 = stablehlo.dynamic_slice %0, %i, sizes = [2]
    : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>"""
UPDATED = """%b = stablehlo.slice %0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %1 = stablehlo.dynamic_update_slice %z, %b, %i
    : (tensor<2xf32>, tensor<1xf32>, tensor<i64>) -> tensor<2xf32>"""
SELECTED = "%1 = stablehlo.select %{which}, %0, %{other} : tensor<2xi1>, tensor<2xf32>"
BITS = """%a = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
  %1 = stablehlo.bitcast_convert %a : (tensor<2xi32>) -> tensor<2xf32>"""
PART = """%a = stablehlo.complex {parts} : tensor<2xcomplex<f32>>
  %1 = stablehlo.{part} %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>"""


@pytest.mark.parametrize(
    ("moved", "is_contracted"),
    [
        (JOINED, True),
        (PADDED, True),
        (DYNAMIC, True),
        (UPDATED, False),  # the result is stored
        (SELECTED.format(which="true", other="z"), True),
        (SELECTED.format(which="both", other="0"), True),
        (SELECTED.format(which="both", other="z"), False),
        (BITS, True),
        (PART.format(parts="%0, %z", part="real"), True),
        (PART.format(parts="%z, %0", part="imag"), True),
    ],
)
def test_moved_products_are_contracted(moved: str, is_contracted: bool) -> None:
    given = [
        np.array([0, 2.5e38], np.float32),
        np.array([-np.inf, -np.inf], np.float32),
        np.array(1),
    ]
    found = kind_of(MOVED.format(moved=moved), given, np.array([-np.inf, -np.inf], np.float32))
    assert (found == CONTRACTED) == is_contracted


def test_positions_are_among_the_elements_of_all_moved_operands() -> None:
    program = parse_module(MOVED.format(moved=JOINED))
    *_, joined, _, _ = program.main.body.operations
    carried = moved_operands(joined)
    assert carried == joined.operands
    found = positions(ObservedProgram(program, {}), joined, carried)
    assert found is not None
    assert found.tolist() == [0, 1]


def test_positions_that_depend_on_an_unknown_index_are_unknown() -> None:
    program = parse_module(MOVED.format(moved=DYNAMIC))
    *_, taken, _, _ = program.main.body.operations
    carried = moved_operands(taken)
    assert carried == taken.operands[:1]
    assert positions(ObservedProgram(program, {}), taken, carried) is None

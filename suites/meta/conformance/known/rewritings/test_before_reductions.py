"""Operations that are wrong where they are fused with a reduction after them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.identities import OTHER, POSITIVE
from conformance.known.rewritings.table import rewritings_of
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.checking import values_of

MANY = 4096

SUM = """
func.func @main(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<2.0> : tensor<{n}xf32>
  %m = stablehlo.maximum {operands} : tensor<{n}xf32>
  %a = stablehlo.abs %m : tensor<{n}xf32>
  {last}
  return %r : tensor<f32>
}}"""
REDUCED = (
    "%r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]"
    " : (tensor<{n}xf32>, tensor<f32>) -> tensor<f32>"
)
SLICED = (
    "%s = stablehlo.slice %a [0:1] : (tensor<{n}xf32>) -> tensor<1xf32>\n"
    "%r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>"
)


def prediction_of(
    label: str, program: Program, place: int, inputs: tuple[Array, ...]
) -> list[Array]:
    """Return the prediction of a class for an operation of main."""
    operation, values = program.main.body.operations[place], values_of(program, inputs)
    rewriting = dict(rewritings_of(operation))[label]
    return [one.result for one in rewriting(ObservedProgram(program, values), operation)]


def predicted_maxima(operands: str, last: str = REDUCED, count: int = MANY) -> list[list[float]]:
    """Return the first two elements of each prediction of a maximum of [NaN, 1, ...] and [3, NaN,
    ...].
    """
    program = parse_module(SUM.format(n=count, operands=operands, last=last.format(n=count)))
    x, y = np.ones((2, count), np.float32)
    x[0], y[0], y[1] = np.nan, 3, np.nan
    return [one[:2].tolist() for one in prediction_of(OTHER, program, 2, (x, y))]


@pytest.mark.parametrize(
    ("operands", "predicted"),
    [("%x, %y", [3, np.nan]), ("%y, %x", [np.nan, 1]), ("%c, %x", [2, 2]), ("%x, %c", [2, 2])],
)
def test_an_extremum_gives_its_second_operand_where_the_first_is_nan(
    operands: str, predicted: list[float]
) -> None:
    (found,) = predicted_maxima(operands)
    assert np.array_equal(found, predicted, equal_nan=True)


def test_small_reduction_predicts_nothing() -> None:
    assert not predicted_maxima("%x, %y", count=MANY - 1)
    assert not predicted_maxima("%x, %y", last=SLICED)


def test_zeros_of_odd_functions_are_positive() -> None:
    text = f"""
func.func @main(%x: tensor<{MANY}xf32>) -> tensor<f32> {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.negate %x : tensor<{MANY}xf32>
  %r = stablehlo.reduce(%m init: %low) applies stablehlo.maximum across dimensions = [0]
    : (tensor<{MANY}xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}"""
    program = parse_module(text)
    x: Array = np.zeros(MANY, np.float32)
    x[1:3] = -0.0, 5
    (found,) = prediction_of(POSITIVE, program, 1, (x,))
    assert found[:3].tolist() == [0, 0, -5]
    assert not np.signbit(found[:2]).any()

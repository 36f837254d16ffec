"""Conditions that patterns put on values."""

from __future__ import annotations

import pytest

from conformance.known.rewritings.conditions import CONDITIONS
from conformance.known.rewritings.evaluation import Evaluator
from conformance.known.rewritings.signs import is_not_negative, square_root_of
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Value
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

PROGRAM = parse_module("""
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<[4.0, -0.5]> : tensor<2xf32>
  %d = stablehlo.constant dense<[3.0, 1.0]> : tensor<2xf32>
  %s = stablehlo.multiply %x, %x : tensor<2xf32>
  %m = stablehlo.multiply %x, %y : tensor<2xf32>
  %p = stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %z = stablehlo.convert %p : (tensor<2xi1>) -> tensor<2xf32>
  %u = stablehlo.slice %x [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %last = stablehlo.dynamic_update_slice %x, %u, %one
    : (tensor<2xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2xf32>
  %beyond = stablehlo.dynamic_update_slice %x, %u, %two
    : (tensor<2xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2xf32>
  %whole = stablehlo.dynamic_update_slice %x, %y, %two
    : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  %moved = stablehlo.reduce_precision %m, format = e7m24 : tensor<2xf32>
  %first = stablehlo.reduce_precision %x, format = e7m24 : tensor<2xf32>
  %unchanged = stablehlo.reduce_precision %m, format = e8m23 : tensor<2xf32>
  %narrow = stablehlo.reduce_precision %m, format = e7m23 : tensor<2xf32>
  %a = stablehlo.abs %m : tensor<2xf32>
  return %a : tensor<2xf32>
}""")
SHOWN = ObservedProgram(PROGRAM, values_of(PROGRAM, (array([1.0, 2.0]), array([3.0, -4.0]))))
(
    C,
    D,
    SQUARE,
    PRODUCT,
    TRUTH,
    ZERO,
    _,
    _,
    _,
    LAST,
    BEYOND,
    WHOLE,
    MOVED,
    FIRST,
    UNCHANGED,
    NARROW,
    MAGNITUDE,
) = (one.results[0] for one in PROGRAM.main.body.operations[:-1])
X = PROGRAM.main.arguments[0]


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("power_of_two", C, True),
        ("power_of_two", D, False),
        ("boolean", TRUTH, True),
        ("boolean", C, False),
        ("constant", C, True),
        ("constant", X, False),
        ("variable", X, True),
        ("variable", C, False),
        ("not_negative", SQUARE, True),
        ("not_negative", PRODUCT, False),
        ("not_negative", D, True),
        ("zero_by_truth_values", ZERO, True),
        ("zero_by_truth_values", D, False),
        ("reduced", X, False),
        ("clamped", BEYOND, True),
        ("clamped", LAST, False),
        ("clamped", X, False),
        ("clamped", MAGNITUDE, False),
        ("bit_moved", MOVED, True),
        ("bit_moved", FIRST, False),
        ("bit_moved", NARROW, False),
        ("unchanged", UNCHANGED, True),
        ("unchanged", NARROW, False),
        ("unchanged", X, False),
        ("overwritten", WHOLE, True),
        ("overwritten", LAST, False),
        ("overwritten", X, False),
        ("overwritten", MAGNITUDE, False),
    ],
)
def test_condition_on_a_value(condition: str, value: Value, holds: bool) -> None:
    assert CONDITIONS[condition](Evaluator(SHOWN), value) is holds


def test_every_condition_has_an_example() -> None:
    mark = next(one for one in test_condition_on_a_value.pytestmark if one.name == "parametrize")
    assert {name for name, *_ in mark.args[1]} == set(CONDITIONS)


def test_square_has_its_root() -> None:
    assert square_root_of(SHOWN, SQUARE) == X
    assert square_root_of(SHOWN, PRODUCT) is None
    assert square_root_of(SHOWN, X) is None
    assert is_not_negative(SHOWN, MAGNITUDE)
    assert not is_not_negative(SHOWN, X)

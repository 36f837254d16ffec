"""Numbers of f64 that a program moves, as pairs of f32."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.known.xla.pairs.returned_pairs import pair_order_keys, rewrite
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.numerics.alike import equal_elements

NUMBERS = [0.0, -0.0, 1.0 + 2.0**-52, np.pi, -1e300, 1e-300, 5e-324, 1e-40, np.inf, np.nan]

PROGRAM = """
func.func @main(%x: tensor<10xTYPE>, %y: tensor<10xf32>) -> (tensor<10xTYPE>, tensor<10xf32>) {
  %0 = stablehlo.create_token : !stablehlo.token
  return %x, %y : tensor<10xTYPE>, tensor<10xf32>
}
"""

CONSTANT = """
func.func @main() -> tensor<f64> {
  %x = stablehlo.constant dense<0.1> : tensor<f64>
  return %x : tensor<f64>
}
"""


@pytest.mark.parametrize("name", ["f64", "complex<f64>"])
def test_arguments_that_are_returned_become_pairs(name: str) -> None:
    program = parse_module(PROGRAM.replace("TYPE", name))
    numbers = np.array(NUMBERS)
    if name.startswith("complex"):
        numbers = np.array(
            [complex(one, other) for one, other in zip(NUMBERS, NUMBERS[::-1], strict=True)]
        )
    others = np.arange(10, dtype=np.float32)
    ((other,),) = rewrite(program)
    wide, narrow = evaluate(other, [numbers, others])
    assert equal_elements(wide, round_to_pairs(numbers)).all()
    assert narrow.tolist() == others.tolist()


def test_constants_become_pairs() -> None:
    ((other,),) = rewrite(parse_module(CONSTANT))
    assert evaluate(other, []) == (round_to_pairs(np.array(0.1)),)


def test_programs_without_f64_have_no_pairs() -> None:
    assert not list(rewrite(parse_module(PROGRAM.replace("TYPE", "f32"))))


ORDERED = """
func.func @main(%x: tensor<9xf64>, %y: tensor<9xf64>) -> tensor<9xi1> {
  %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<9xf64>, tensor<9xf64>) -> tensor<9xi1>
  return %0 : tensor<9xi1>
}
"""

BELOW = -1e-323
"""A number whose pair is (-0, -0)."""


def test_pairs_with_a_second_number_of_minus_zero_stand_below_their_sums() -> None:
    first, *others = rewrite(parse_module(ORDERED))
    (second,) = others
    near = 2.0**-100
    lower = np.array([BELOW, BELOW, -0.0, 0.0, near * (1 - 2**-53), -near, -near, 1.0, -np.nan])
    upper = np.array([-0.0, -2e-323, BELOW, 1e-323, near, -near * (1 + 2**-52), BELOW, 2.0, 1.0])
    want = [True, False, False, False, True, False, True, True, True]
    assert evaluate(second[0], [lower, upper])[0].tolist() == want
    assert not evaluate(first[0], [lower, upper])[0][0]


def test_constants_and_arguments_have_the_same_order() -> None:
    numbers = np.array([BELOW, -0.0, 2.0**-100 * (1 - 2**-53), 0.1, np.inf, -1e300, np.pi])
    text = """
    func.func @main(%x: tensor<7xf64>) -> (tensor<7xf64>, tensor<i1>) {
      %c = stablehlo.constant dense<0.1> : tensor<f64>
      %0 = stablehlo.compare LT, %c, %c, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      return %x, %0 : tensor<7xf64>, tensor<i1>
    }
    """
    _, (other,) = rewrite(parse_module(text))
    found = evaluate(other, [numbers])[0]
    assert found.tobytes() == pair_order_keys(numbers).tobytes()
    assert found[2] < round_to_pairs(numbers)[2], "the next number below"
    assert pair_order_keys(np.zeros(2, np.float32)).dtype == np.float32

"""Numbers of f64 that a program moves, as pairs of f32."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.known.xla.pairs.returned_pairs import rewrite
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

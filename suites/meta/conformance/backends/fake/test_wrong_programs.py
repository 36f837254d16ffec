"""Programs that are rewritten wrongly before they run."""

from __future__ import annotations

import pytest

from conformance.backends.fake.wrong_programs import constants_multiplied_first
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from suites.meta.support.small_programs import array

PRODUCTS = """
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {{
  %c = {first}
  %d = {second}
  %0 = stablehlo.multiply %x, %c : tensor<1xf32>
  %1 = stablehlo.multiply %0, %d : tensor<1xf32>
  return %1 : tensor<1xf32>
}}"""
CONSTANT = "stablehlo.constant dense<{}> : tensor<1xf32>"
COMPUTED = "stablehlo.negate %x : tensor<1xf32>"


def two_products(first: str, second: str) -> Program:
    return parse_module(PRODUCTS.format(first=first, second=second))


def test_constants_are_multiplied_with_each_other_first() -> None:
    """1e-20 (1e30 1e20) overflows, (1e-20 1e30) 1e20 does not."""
    program = two_products(CONSTANT.format("1.0e30"), CONSTANT.format("1.0e20"))
    x = array([1e-20])
    assert evaluate(program, [x])[0] < 1e31
    assert evaluate(constants_multiplied_first(program), [x])[0] > 1e38


@pytest.mark.parametrize(
    ("first", "second"), [(COMPUTED, CONSTANT.format(2.0)), (CONSTANT.format(2.0), COMPUTED)]
)
def test_other_products_stay(first: str, second: str) -> None:
    program = two_products(first, second)
    assert constants_multiplied_first(program) == program


def test_products_in_regions_use_constants_around_them() -> None:
    program = parse_module("""
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<1.0e30> : tensor<f32>
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.multiply %x, %c : tensor<f32>
    %2 = stablehlo.multiply %1, %c : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}""")
    changed = constants_multiplied_first(program)
    inner = changed.main.body.operations[1].regions[0].operations
    assert [one.name for one in inner] == ["multiply", "multiply", "multiply", "return"]

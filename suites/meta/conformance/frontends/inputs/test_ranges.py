"""Ranges of the values of a program that hold for any inputs."""

from __future__ import annotations

from math import inf

import pytest

from conformance.frontends.inputs.ranges import known_values, range_of_type
from conformance.needs.ranges import EVERYTHING
from conformance.stablehlo.parse import parse_module
from reference.ir.program import TokenType, Value
from suites.meta.support.small_programs import tensor_of


def range_after(*lines: str, of: str = "tensor<4xf32>", arguments: str = "") -> tuple[float, float]:
    """Return the range of the last value of a function of %x."""
    body = "\n".join(lines)
    last = lines[-1].strip().partition(" ")[0] if lines[-1].strip().startswith("%") else "%r"
    program = parse_module(
        f"func.func @main(%x: tensor<4xf32>{arguments}) -> {of} {{\n"
        f"{body}\nreturn {last} : {of}\n}}"
    )
    end = program.main.body.operations[-1]
    return tuple(known_values(program).ranges[end.operands[0].name])


@pytest.mark.parametrize(
    ("of", "found"),
    [("i1", (0, 1)), ("ui8", (0, inf)), ("si8", EVERYTHING), ("f32", EVERYTHING)],
)
def test_types_have_ranges(of: str, found: tuple[float, float]) -> None:
    assert range_of_type(Value("x", tensor_of(2, of=of))) == found
    assert range_of_type(Value("t", TokenType())) == EVERYTHING


def test_constants_and_positions() -> None:
    constant = "%r = stablehlo.constant dense<[-1.0, 2.0, 0.0, 1.0]> : tensor<4xf32>"
    assert range_after(constant) == (-1, 2)
    assert range_after("%r = stablehlo.iota dim = 0 : tensor<4xf32>") == (0, 3)


def test_rules_follow_operations() -> None:
    square = "%s = stablehlo.multiply %x, %x : tensor<4xf32>"
    assert range_after(square) == (0, inf)
    assert range_after(square, "%r = stablehlo.negate %s : tensor<4xf32>") == (-inf, 0)
    assert range_after("%r = stablehlo.logistic %x : tensor<4xf32>")[0] >= 0


def test_moved_elements_keep_their_range() -> None:
    found = range_after(
        "%s = stablehlo.abs %x : tensor<4xf32>",
        "%r = stablehlo.reverse %s, dims = [0] : tensor<4xf32>",
    )
    assert found == (0, inf)


def test_branches_have_the_range_of_either() -> None:
    found = range_after(
        '%r = "stablehlo.if"(%p) ({',
        "  %a = stablehlo.constant dense<1.0> : tensor<4xf32>",
        "  stablehlo.return %a : tensor<4xf32>",
        "}, {",
        "  %b = stablehlo.constant dense<5.0> : tensor<4xf32>",
        "  stablehlo.return %b : tensor<4xf32>",
        "}) : (tensor<i1>) -> tensor<4xf32>",
        arguments=", %p: tensor<i1>",
    )
    assert found == (1, 5)


def test_loops_keep_the_range_of_values_that_they_pass_on() -> None:
    program = parse_module("""
func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %c = stablehlo.constant dense<7> : tensor<i32>
  %r:2 = "stablehlo.while"(%c, %c) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %d = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %d, %b : tensor<i32>, tensor<i32>
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}""")
    changed, kept = program.main.body.operations[-1].operands
    ranges = known_values(program).ranges
    assert ranges[changed.name] == EVERYTHING
    assert ranges[kept.name] == (7, 7)

"""Patterns: spelling, matching, and a new pattern as a line of data."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.identities import IDENTITIES
from conformance.known.rewritings.patterns import Rewriting, predictions
from conformance.known.rewritings.terms import Term, Variable, parse_term
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from reference.ir.types import Array
from suites.meta.support.checking import values_of


def test_a_pattern_is_an_operation_with_operands() -> None:
    inner = Term("multiply", (Variable("x"), Variable("C")))
    assert parse_term("(add (multiply x C) -0.5)") == Term("add", (inner, -0.5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(add x", "lack their closing parenthesis"),
        ("(add x y) z", "text after the end: z"),
        ("", "is incomplete"),
        ("(add ... x)", "the operands of add end with ..."),
        ("(", "mnemonic is missing before the end"),
        ("((add x y) z)", r"mnemonic is missing before \("),
    ],
)
def test_malformed_pattern_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_term(text)


def test_all_identities_can_be_read() -> None:
    for one in IDENTITIES:
        assert one.pattern.operands
        assert one.replacement is not None


PROGRAM = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %d = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %e = stablehlo.constant dense<3.0> : tensor<2xf32>
  %p = stablehlo.{inner} : tensor<2xf32>
  %r = stablehlo.{outer} : tensor<2xf32>
  return %r : tensor<2xf32>
}}"""
X, Y = np.array([3, -5], np.float32), np.array([7, 11], np.float32)


def prediction_of(rule: str, inner: str, outer: str) -> list[Array]:
    """Return the result of a rewriting for the last operation of a program."""
    program = parse_module(PROGRAM.format(inner=inner, outer=outer))
    last = program.main.body.operations[-2]
    shown = ObservedProgram(program, values_of(program, (X, Y)))
    return [one.result for one in predictions(shown, Rewriting("", rule), (), last)]


@pytest.mark.parametrize(
    ("rule", "inner", "outer", "result"),
    [
        ("(tanh (negate x)) -> (negate (tanh x))", "negate %x", "tanh %p", -np.tanh(X)),
        ("(maximum x (negate x)) -> (abs x)", "negate %x", "maximum %p, %x", np.abs(X)),
        ("(maximum x (negate x)) -> (abs x)", "negate %y", "maximum %p, %x", None),
        ("(tanh (subtract x ...)) -> (tanh x)", "subtract %x, %y", "tanh %p", np.tanh(X)),
        ("(tanh (subtract x)) -> (tanh x)", "subtract %x, %y", "tanh %p", None),
        ("(tanh (negate x y ...)) -> (tanh x)", "negate %x", "tanh %p", None),
        ("(multiply (divide x C) C) -> x", "divide %x, %c", "multiply %p, %d", X),
        ("(multiply (divide x C) C) -> x", "divide %x, %c", "multiply %p, %e", None),
        ("(multiply (divide x C) C) -> x", "divide %x, %y", "multiply %p, %y", None),
        ("(subtract (add x y) y) -> x", "add %y, %x", "subtract %p, %y", X),
        ("(subtract (add x y) y) -> x", "add %y, %x", "subtract %y, %p", None),
        ("(power x 3) -> (multiply x (multiply x x))", "negate %x", "power %x, %e", X**3),
        ("(power x 3) -> (multiply x (multiply x x))", "negate %x", "power %x, %c", None),
    ],
)
def test_a_new_rewriting_is_one_line(
    rule: str, inner: str, outer: str, result: Array | None
) -> None:
    found = prediction_of(rule, inner, outer)
    if result is None:
        assert not found
    else:
        assert found
        assert all(np.allclose(one, result, rtol=1e-6) for one in found)

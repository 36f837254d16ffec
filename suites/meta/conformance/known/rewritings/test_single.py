"""Rewritings of one operation, as hypotheses about its results."""

from __future__ import annotations

import pytest

from conformance.known.rewritings.patterns import Rewriting
from conformance.known.rewritings.single import pattern_hypothesis
from reference.interpreter.evaluate import apply
from suites.meta.support.small_programs import array, op_program, tensor_of

BY_RECIPROCAL = Rewriting("reciprocal", "(divide x y) -> (multiply x (divide 1 y))")
X, Y = array([5.0, 6.0]), array([3.0, 4.0])
PREDICTED = X * (array(1.0) / Y)


def explained(op: str, got, *rewritings: Rewriting, folded=(), y=Y) -> list[bool]:
    operation = op_program(op, [tensor_of(2), tensor_of(2)], tensor_of(2)).subject
    hypothesis = pattern_hypothesis(rewritings or (BY_RECIPROCAL,), folded)
    assert hypothesis.errors is not None
    expected = apply(operation, (X, y))
    (errors,) = hypothesis.errors(operation, (X, y), expected, (got,))
    return (errors <= 1).tolist()


def test_elements_are_those_of_the_replacement_bit_for_bit() -> None:
    assert explained("divide", PREDICTED) == [True, True]
    assert explained("divide", PREDICTED + array([0.0, 1.0])) == [True, False]


def test_other_operations_are_not_rewritten() -> None:
    assert explained("multiply", X * Y) == [False, False]


@pytest.mark.parametrize(("folded", "found"), [((False, True), True), ((False, False), False)])
def test_constants_of_a_pattern_must_be_constants(folded: tuple[bool, ...], found: bool) -> None:
    doubled = Rewriting("doubled", "(divide x C) -> (multiply x 7)")
    assert all(explained("divide", X * 7, doubled, folded=folded)) is found


def test_the_rewriting_that_explains_most_counts() -> None:
    other = Rewriting("reciprocal", "(divide x y) -> (multiply x 7)")
    assert explained("divide", X * 7, BY_RECIPROCAL, other) == [True, True]

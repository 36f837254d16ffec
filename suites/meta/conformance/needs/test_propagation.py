"""Needs of results become needs of operands."""

from __future__ import annotations

from math import inf, log

import pytest

from conformance.needs import propagation
from conformance.needs.need import BITS, NONNEGATIVE, NONZERO, POSITIVE, Need, at_least, at_most
from conformance.needs.rules import Rule
from suites.meta.conformance.needs.single_operations import (
    known_ranges,
    needs_by_rule,
    operation_on,
    value,
)

X, Y, Z = value("x"), value("y"), value("z")


def needs(op: str, rule: Rule, need: Need, **ranges: tuple[float, float]) -> dict[str, list[Need]]:
    operation = operation_on(op, X, Y)
    return needs_by_rule(rule, operation, need, known_ranges(X, Y, **ranges))


def test_sum_with_a_constant_moves_the_need() -> None:
    assert needs("add", propagation.propagate_add, at_least(5), y=(2, 2))["x"] == [at_least(3)]


def test_unbounded_terms_share_a_bound() -> None:
    assert needs("add", propagation.propagate_add, at_least(4)) == {
        "x": [at_least(2)],
        "y": [at_least(2)],
    }
    assert needs("add", propagation.propagate_add, at_most(4))["x"] == [at_most(2)]


def test_sum_that_must_not_be_zero_keeps_a_term_away_from_the_other() -> None:
    assert needs("add", propagation.propagate_add, NONZERO, y=(1, 3))["x"] == [
        at_least(-1, is_open=True)
    ]
    assert needs("add", propagation.propagate_add, NONZERO, y=(-3, -1))["x"] == [
        at_most(1, is_open=True)
    ]
    assert needs("add", propagation.propagate_add, NONZERO, y=(0, 3))["x"] == [POSITIVE]


def test_difference_moves_both_operands() -> None:
    found = needs("subtract", propagation.propagate_subtract, Need(0, 1), y=(2, 3))
    assert found == {"x": [Need(3, 3)]}
    found = needs("subtract", propagation.propagate_subtract, Need(0, 1), x=(2, 3))
    assert found == {"y": [Need(2, 2)]}


def test_difference_from_squares_needs_a_larger_first_operand() -> None:
    found = needs("subtract", propagation.propagate_subtract, at_least(1), y=(0, inf))
    assert found["x"] == [at_least(5)]


@pytest.mark.parametrize(
    ("factor", "need", "found"),
    [
        ((2, 4), Need(0, 8), Need(0, 2)),
        ((-4, -2), Need(0, 8), Need(-2, 0)),
        ((0, inf), POSITIVE, POSITIVE),
        ((-1, 1), NONZERO, NONZERO),
    ],
)
def test_product_scales_the_need(factor: tuple[float, float], need: Need, found: Need) -> None:
    assert needs("multiply", propagation.propagate_multiply, need, y=factor)["x"] == [found]


def test_square_needs_the_root_of_either_sign() -> None:
    square = operation_on("multiply", X, X)
    found = needs_by_rule(propagation.propagate_multiply, square, Need(0, 9, is_open=True))
    assert found == {"x": [Need(-3, 3, True, nonzero=True)]}


def test_bits_pass_through_integer_arithmetic() -> None:
    assert Need(form=BITS) in needs("add", propagation.propagate_add, Need(form=BITS))["y"]
    assert (
        Need(form=BITS) in needs("multiply", propagation.propagate_multiply, Need(form=BITS))["y"]
    )


@pytest.mark.parametrize(
    ("rule", "need", "found"),
    [
        (propagation.propagate_negate, Need(1, 3), Need(-3, -1)),
        (propagation.propagate_abs, Need(0, 3), Need(-3, 3)),
        (propagation.propagate_abs, POSITIVE, Need(nonzero=True)),
        (propagation.propagate_sign, Need(0.5, 3, is_open=True), POSITIVE),
        (propagation.propagate_sign, at_most(0), at_most(0)),
        (propagation.propagate_exponential, Need(1, 8), Need(0.0, log(8))),
        (propagation.propagate_exponential, POSITIVE, Need()),
    ],
)
def test_functions_have_inverses(rule: Rule, need: Need, found: Need) -> None:
    assert needs_by_rule(rule, operation_on("abs", X), need) == {"x": [found]}


def test_product_of_positive_vectors_is_positive() -> None:
    assert needs("dot_general", propagation.propagate_dot, POSITIVE) == {
        "x": [POSITIVE],
        "y": [POSITIVE],
    }
    assert needs("dot_general", propagation.propagate_dot, NONNEGATIVE)["x"] == [NONNEGATIVE]
    assert needs("dot_general", propagation.propagate_dot, NONZERO) == {}


def test_moved_elements_have_the_need_of_the_result() -> None:
    assert needs("maximum", propagation.propagate_extremum, POSITIVE) == {
        "x": [POSITIVE],
        "y": [POSITIVE],
    }
    scatter = operation_on("scatter", X, Y, Z)
    assert needs_by_rule(propagation.propagate_scatter, scatter, POSITIVE) == {
        "x": [POSITIVE],
        "z": [POSITIVE],
    }
    clamp = operation_on("clamp", X, Y, Z)
    assert needs_by_rule(propagation.propagate_clamp, clamp, POSITIVE) == {"y": [POSITIVE]}

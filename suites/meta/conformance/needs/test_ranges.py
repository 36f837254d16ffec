"""Ranges of results, given the ranges of operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf

import pytest

from conformance.needs import ranges
from conformance.needs.ranges import EVERYTHING, KnownValues, Range, RangeRule
from generators.regions.bodies import fold_of
from reference.ir.program import Operation
from reference.ir.types import element_type
from suites.meta.conformance.needs.single_operations import known_ranges, operation_on, value

X, Y = value("x"), value("y")
NOTHING = known_ranges(X, Y)
UNIT = Range(0.0, 1.0)


def range_of(rule: RangeRule, *given: tuple[float, float]) -> Range:
    operation = operation_on("add", *(value(f"x{n}") for n in range(len(given))))
    return rule(operation, [Range(*one) for one in given], NOTHING)


@pytest.mark.parametrize(
    ("rule", "given", "found"),
    [
        (ranges.add_range, [(1, 2), (10, 20)], (11, 22)),
        (ranges.subtract_range, [(1, 2), (10, 20)], (-19, -8)),
        (ranges.multiply_range, [(-1, 2), (-3, 5)], (-6, 10)),
        (ranges.multiply_range, [(0, 0), (-inf, inf)], (0, 0)),
        (ranges.divide_range, [(1, 2), (4, 8)], (0.125, 0.5)),
        (ranges.divide_range, [(1, 2), (0, 8)], EVERYTHING),
        (ranges.divide_range, [(1, 2), (-1, 1)], EVERYTHING),
        (ranges.divide_range, [(1, inf), (1, inf)], EVERYTHING),
        (ranges.abs_range, [(-3, 2)], (0, 3)),
        (ranges.abs_range, [(-3, -2)], (2, 3)),
        (ranges.sqrt_range, [(-4, 9)], (0, 3)),
        (ranges.exponential_range, [(0, 1)], (1, exp(1))),
        (ranges.exponential_range, [(-inf, 800)], (ranges.LEAST, inf)),
        (ranges.clamp_range, [(0, 0), (-5, 5), (1, 1)], (0, 1)),
        (ranges.clamp_range, [(0, 0), (2, 5), (1, 1)], (1, 1)),
        (ranges.power_range, [(0, 1), (0, 9)], UNIT),
        (ranges.power_range, [(0, 2), (0, 9)], (0, inf)),
        (ranges.power_range, [(-1, 1), (0, 9)], EVERYTHING),
        (ranges.maximum_range, [(0, 3), (1, 2)], (1, 3)),
        (ranges.minimum_range, [(0, 3), (1, 2)], (0, 2)),
        (ranges.negate_range, [(0, 3)], (-3, 0)),
        (ranges.range_between(-1, 1), [EVERYTHING], (-1, 1)),
    ],
)
def test_range_of_the_result(
    rule: RangeRule, given: Sequence[tuple[float, float]], found: tuple[float, float]
) -> None:
    assert range_of(rule, *given) == found


NEGATED = Operation("negate", (X,), (value("n"),))
DOUBLED = Operation("multiply", (X, Y), (value("d"),))


@pytest.mark.parametrize(
    ("operands", "sign"), [((X, X), 1), ((X, NEGATED.results[0]), -1), ((X, Y), 0)]
)
def test_product_with_itself_is_a_square(operands: tuple, sign: int) -> None:
    known = known_ranges(X, Y, makers=[NEGATED])
    assert ranges.is_square(operation_on("multiply", *operands), known) == sign


@pytest.mark.parametrize(("factor", "sign"), [((2, 2), 1), ((-2, -2), -1), ((1, 2), 0)])
def test_multiple_by_a_constant_keeps_the_square(factor: tuple[float, float], sign: int) -> None:
    known = known_ranges(X, makers=[DOUBLED], y=factor)
    assert ranges.is_square(operation_on("multiply", X, DOUBLED.results[0]), known) == sign


def test_complex_squares_may_be_negative() -> None:
    x = value("x", "complex<f32>")
    assert ranges.is_square(operation_on("multiply", x, x), known_ranges(x)) == 0


def test_square_is_not_negative() -> None:
    square = operation_on("multiply", X, X)
    assert ranges.multiply_range(square, [Range(-2, 3)] * 2, NOTHING) == (0.0, 9.0)


def reduction(fold: str, *given: tuple[float, float]) -> Range:
    operation = Operation(
        "reduce", (X, Y), (value("r"),), (), (fold_of(fold, element_type("f32")).region,)
    )
    return ranges.reduce_range(operation, [Range(*one) for one in given], NOTHING)


@pytest.mark.parametrize(
    ("fold", "given", "found"),
    [
        ("maximum", [(0, 3), (-9, -9)], (-9, 3)),
        ("add", [(2, 3), (0, 0)], (2, inf)),
        ("add", [(-1, 3), (0, 0)], EVERYTHING),
        ("multiply", [(1, 2), (1, 1)], EVERYTHING),
    ],
)
def test_range_of_a_reduction(fold: str, given, found: tuple[float, float]) -> None:
    assert reduction(fold, *given) == found


def test_union_of_nothing_is_everything() -> None:
    assert ranges.union([]) == EVERYTHING
    assert ranges.union([Range(0, 1), Range(-2, 0.5)]) == (-2, 1)
    assert UNIT.is_finite
    assert not EVERYTHING.is_finite


def test_vector_with_itself_has_a_product_that_is_not_negative() -> None:
    dot = operation_on("dot_general", X, X)
    known: KnownValues = NOTHING
    assert ranges.dot_range(dot, [EVERYTHING] * 2, known) == (0.0, inf)
    assert (
        ranges.dot_range(operation_on("dot_general", X, Y), [EVERYTHING] * 2, known) == EVERYTHING
    )


def test_result_has_elements_of_the_operands_that_it_moves() -> None:
    flag = value("p", "i1")
    assert ranges.copied_operands(operation_on("select", flag, X, Y), 0) == (X, Y)
    assert ranges.copied_operands(operation_on("reverse", X), 0) == (X,)

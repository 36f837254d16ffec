"""Errors over the axis: the largest by exponent, and the picture of them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from reference.ir.types import element_type
from reports.sweeps.curves import (
    BOTTOM,
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    Curve,
    _ticks,
    errors_by_exponent,
    exponents_of,
    picture,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("of", "exponents"), [("f32", (-149, 127)), ("bf16", (-133, 127)), ("f8E5M2", (-16, 15))]
)
def test_exponents_include_subnormal_numbers(of: str, exponents: tuple[int, int]) -> None:
    assert exponents_of(element_type(of)) == exponents


def test_the_largest_error_of_an_exponent_and_a_sign() -> None:
    axis = [(1.0, 0.25), (1.5, 0.5), (2.0, 0.125), (-1.0, 3.0), (0.0, 0.75)]
    assert errors_by_exponent(axis, 1.0, (-2, 1)) == (0.75, 0.0, 0.5, 0.12)
    assert errors_by_exponent(axis, -1.0, (-2, 1)) == (0.0, 0.0, 3.0, 0.0)


def test_zeros_have_a_sign_and_exponents_out_of_range_the_nearest() -> None:
    assert errors_by_exponent([(-0.0, 2.0)], -1.0, (0, 1)) == (2.0, 0.0)
    assert errors_by_exponent([(-0.0, 2.0)], 1.0, (0, 1)) == (0.0, 0.0)
    assert errors_by_exponent([(8.0, 1.0), (0.125, 2.0)], 1.0, (0, 1)) == (2.0, 1.0)


def drawn(*curves: Curve, budget: float | None = None) -> ET.Element:
    return ET.fromstring(picture("a <title>", curves, (-2, 1), budget))


CURVE = Curve("one & two", "red", (0.0, 1.0, 0.0, 2.0), (4.0, 0.0, 0.0, 0.0))


def test_negative_arguments_are_left_and_the_highest_error_is_at_the_top() -> None:
    (line,) = drawn(CURVE).iter(f"{SVG}polyline")
    points = [tuple(map(int, one.split(","))) for one in line.attrib["points"].split()]
    assert len(points) == 8
    assert points[0][0] == LEFT
    assert points[0][1] < points[1][1] == HEIGHT - BOTTOM  # the farthest negative exponent first
    highest = min(points, key=lambda point: point[1])
    assert highest[0] == round(LEFT + 4 * (WIDTH - LEFT) / 8)
    assert TOP < highest[1] < TOP + 12
    assert CURVE.highest == 4


def test_labels_are_escaped() -> None:
    svg = drawn(CURVE)
    assert svg.find(f"{SVG}title").text == "a <title>"  # type: ignore[union-attr]
    assert "one & two" in [one.text for one in svg.iter(f"{SVG}text")]


def test_the_budget_is_a_dashed_line_above_the_errors() -> None:
    dashed = [
        one
        for one in drawn(CURVE, budget=8.0).iter(f"{SVG}path")
        if "stroke-dasharray" in one.attrib
    ]
    assert len(dashed) == 1
    assert not any("stroke-dasharray" in one.attrib for one in drawn(CURVE).iter(f"{SVG}path"))


def test_labelled_exponents_are_round_and_include_zero() -> None:
    ticks = _ticks(-149, 127)
    assert 0 in ticks
    assert all(tick % 50 == 0 for tick in ticks)
    assert all(-149 < tick < 127 for tick in _ticks(-149, 127))
    assert 0 in _ticks(-16, 15)

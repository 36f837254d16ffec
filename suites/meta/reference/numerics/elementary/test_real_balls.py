"""Balls of real functions, exact where the value may be a tie."""

from __future__ import annotations

import math

import pytest

from reference.numerics.elementary.real_balls import clamped_ball, logistic_ball, power_ball


def test_arguments_are_clamped_at_both_ends() -> None:
    assert [float(clamped_ball(x, 2.0)) for x in (-5, 1.5, 7)] == [-2, 1.5, 2]


def test_the_logistic_function() -> None:
    assert float(logistic_ball(0.0)) == 0.5
    assert float(logistic_ball(1.0)) == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-15)
    assert 0 < float(logistic_ball(-700.0)) < 1e-300


@pytest.mark.parametrize(
    ("x", "y", "power"),
    [(3.0, 2.0, 9.0), (9.0, 0.5, 3.0), (4.0, -1.5, 0.125), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0),
     (1.0, 1e300, 1.0), (-1.0, 3.0, -1.0), (16.0, 0.25, 2.0), (2.0, 100.0, 2.0**100)],
)  # fmt: skip
def test_dyadic_powers_are_exact(x: float, y: float, power: float) -> None:
    ball = power_ball(x, y)
    assert float(ball.mid()) == power
    assert ball.rad() == 0


@pytest.mark.parametrize(("x", "y"), [(2.0, 0.5), (3.0, 65.0), (3.0, 0.1)])
def test_other_powers_have_a_radius(x: float, y: float) -> None:
    ball = power_ball(x, y)
    assert float(ball) == pytest.approx(x**y, rel=1e-12)
    assert ball.rad() > 0


def test_powers_far_out_of_range_are_bounded() -> None:
    assert power_ball(2.0, 1e6) == power_ball(10.0, 1e300)
    assert float(power_ball(10.0, -1e300)) == 0
    assert power_ball(10.0, -1e300) > 0
    assert power_ball(-10.0, 2**53 - 1.0) < 0

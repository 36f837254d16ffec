"""Exact arithmetic on numbers m * 2^e."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from reference.ir.types import element_type
from reference.numerics.elementary import exact

LARGEST = math.nextafter(math.inf, 0)


def test_a_float_is_an_odd_number_times_a_power_of_two() -> None:
    assert exact.dyadic(12.0) == (3, 2)
    assert exact.dyadic(-0.375) == (-3, -3)
    assert exact.dyadic(0.0) == (0, 0)
    assert exact.dyadic(5e-324) == (1, -1074)


def test_floats_over_one_power_of_two() -> None:
    assert exact.common(3.0, 0.25, 0.0) == ([12, 1, 0], -2)
    assert exact.common(0.0) == ([0], 0)


@pytest.mark.parametrize(
    ("m", "e", "times", "root"),
    [(9, 4, 1, (3, 2)), (81, 4, 2, (3, 1)), (9, 3, 1, None), (3, 2, 1, None), (9, 4, 0, (9, 4)),
     (9, 4, 2, None)],
)  # fmt: skip
def test_square_roots_that_are_exact(
    m: int, e: int, times: int, root: tuple[int, int] | None
) -> None:
    assert exact.dyadic_root(m, e, times) == root


def value_of(power: tuple[tuple[int, int, int], int] | None) -> tuple[Fraction, Fraction] | None:
    if power is None:
        return None
    (real, imaginary, divisor), e = power
    scale = Fraction(2) ** e / divisor
    return real * scale, imaginary * scale


@pytest.mark.parametrize(
    ("z", "exponent", "power"),
    [
        (3 + 4j, 2, (-7, 24)),
        (3 + 4j, 0.5, (2, 1)),
        (-7 + 24j, 0.25, (2, 1)),
        (3 - 4j, 0.5, (2, -1)),
        (-4 + 0j, 0.5, (0, 2)),
        (1 + 1j, -2, (0, Fraction(-1, 2))),
        (3 + 4j, -0.5, (Fraction(2, 5), Fraction(-1, 5))),
        (0.5 + 0j, 2, (Fraction(1, 4), 0)),
        (2 + 1j, 0.5, None),
        (1 + 1j, 65, None),
        (1 + 1j, 64, (2**32, 0)),
        (complex(1, 2.0**-300), 2, None),
    ],
)
def test_gaussian_powers(
    z: complex, exponent: float, power: tuple[Fraction, Fraction] | None
) -> None:
    assert value_of(exact.gaussian_power(z.real, z.imag, exponent)) == power


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (-1, 3), (2**70, 7), (6, 3)])
def test_quotients_are_rounded_to_odd(numerator: int, denominator: int) -> None:
    m, e = exact.odd_quotient(numerator, denominator)
    wanted, found = Fraction(numerator, denominator), m * Fraction(2) ** e
    assert abs(m).bit_length() >= 64
    assert (found == wanted) or (m % 2 == 1 and abs(found - wanted) < Fraction(2) ** e)
    assert (found == wanted) == (wanted.denominator == 1)


@pytest.mark.parametrize(("square", "exponent"), [(2, 0), (2, 1), (9, 0), (2**200 + 1, -7), (1, 3)])
def test_roots_are_rounded_to_odd(square: int, exponent: int) -> None:
    m, e = exact.odd_root(square, exponent)
    wanted, unit = square * Fraction(2) ** exponent, Fraction(2) ** e
    assert m.bit_length() >= 64
    assert (m * unit) ** 2 == wanted or m % 2 == 1
    assert ((m - 1) * unit) ** 2 < wanted < ((m + 1) * unit) ** 2


@pytest.mark.parametrize(
    ("m", "e", "nearest", "odd"),
    [
        (0, 5, 0.0, 0.0),
        (3, -1, 1.5, 1.5),
        (2**53 + 1, 0, 2.0**53, 2.0**53 + 2),
        (-(2**53) - 1, 0, -(2.0**53), -(2.0**53) - 2),
        (1, 1024, math.inf, LARGEST),
        (-1, 1024, -math.inf, -LARGEST),
        (1, 1023, 2.0**1023, 2.0**1023),
        (1, 5000, math.inf, LARGEST),
        (1, -1076, 0.0, 5e-324),
        (5, -1076, 5e-324, 5e-324),
    ],
)
def test_floats_rounded_to_nearest_and_to_odd(m: int, e: int, nearest: float, odd: float) -> None:
    assert exact.nearest_float(m, e) == nearest
    assert exact.odd_float(m, e) == odd


def test_numbers_are_rounded_once_to_any_type() -> None:
    """A number just above the midpoint of 1 and the next bf16, at which f64 would end."""
    above = (2**80 + 2**72 + 1, -80)
    assert exact.round_dyadic([above], element_type("bf16")).astype(float).tolist() == [1 + 2.0**-7]
    assert exact.round_dyadic([(2**53 + 1, -53)], element_type("f64")).tolist() == [1]
    assert exact.round_dyadic([(1, 2000)], element_type("f32")).tolist() == [math.inf]

"""Certified rounding: balls, exact arithmetic, and values that are undecided or ties."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from reference.ir.types import element_type
from reference.numerics.elementary import exact
from reference.numerics.elementary.certified import round_certified

F32, F64, BF16 = (element_type(name) for name in ("f32", "f64", "bf16"))


def test_a_value_near_a_midpoint_takes_more_precision() -> None:
    """1 + 2^-24 is midway between 1 and the next f32; 2^-200 more decides for the next."""
    precisions: list[int] = []

    def near_midpoint(sign: float) -> flint.arb:
        precisions.append(flint.ctx.prec)
        far = flint.arb(sign) * flint.arb(2) ** -200
        return flint.arb(1) + flint.arb(2) ** -24 + far * flint.arb(3).sqrt()

    found = round_certified(near_midpoint, [np.array([1.0, -1.0])], F32)
    assert found.tolist() == [1 + 2.0**-23, 1]
    assert max(precisions) == 256


def test_an_exact_midpoint_is_a_tie() -> None:
    def midpoint(odd: float) -> flint.arb:
        inexact = flint.arb(2).sqrt() ** 2 - 2  # a ball around 0 at every precision
        return flint.arb(1) + flint.arb(odd) * flint.arb(2) ** -24 + inexact

    found = round_certified(midpoint, [np.array([1.0, 3.0])], F32)
    assert found.tolist() == [1, 1 + 2.0**-22]


LARGEST = math.nextafter(math.inf, 0)


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

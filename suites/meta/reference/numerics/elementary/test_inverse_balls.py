"""Inverse circular and hyperbolic functions of complex numbers: signs, axes, branch points."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from reference.numerics.elementary.functions import FUNCTIONS
from reference.numerics.elementary.inverse_balls import INVERSE_BALLS
from suites.meta.support.ops.elementary import working_bits

INF, NAN = math.inf, math.nan
PARTS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, INF, -INF, NAN)
INVERSE = sorted(INVERSE_BALLS.keys() - {"bessel_i1e"})


@pytest.mark.parametrize("name", INVERSE)
def test_values_on_the_axes_and_at_infinity_are_pythons(name: str) -> None:
    checked = 0
    for z in (complex(x, y) for x in PARTS for y in PARTS):
        try:
            want = getattr(cmath, name)(z)
        except ValueError:  # a pole
            continue
        with np.errstate(all="ignore"):
            got = complex(FUNCTIONS[name](np.array([z]))[0])
        is_open = math.isinf(z.real) and math.isnan(z.imag)  # a sign that Annex G leaves open
        for part in ("real", "imag"):
            a, b = getattr(got, part), getattr(want, part)
            if math.isnan(b):
                assert math.isnan(a) or (name == "acosh" and z.real == 0), (z, got, want)
                continue
            a, b = (abs(a), abs(b)) if is_open else (a, b)
            assert math.isclose(a, b, rel_tol=1e-15), (z, got, want)
            assert math.copysign(1, a) == math.copysign(1, b), (z, got, want)
            checked += 1
    assert checked > 100


def test_poles_are_infinite() -> None:
    with np.errstate(all="ignore"):
        assert FUNCTIONS["atanh"](np.array([1 + 0j, complex(-1, -0.0)])).tolist() == [
            complex(INF, 0), complex(-INF, -0.0),
        ]  # fmt: skip
        assert FUNCTIONS["atan"](np.array([1j])).tolist() == [complex(0, INF)]


def test_a_bessel_function_is_real_on_the_real_axis_and_imaginary_on_the_imaginary_one() -> None:
    real = FUNCTIONS["bessel_i1e"](np.array([2.5, -3.0]))
    assert FUNCTIONS["bessel_i1e"](np.array([2.5 + 0j, -3.0])).tolist() == real.tolist()
    assert FUNCTIONS["bessel_i1e"](np.array([2j])).tolist() == [complex(0, 0.5767248077568734)]


def test_tiny_parts_keep_their_relative_accuracy() -> None:
    with working_bits(4000):
        _, imaginary = INVERSE_BALLS["asin"](0.5, 1e-300)
        assert math.isclose(float(imaginary), 1e-300 / math.sqrt(0.75))

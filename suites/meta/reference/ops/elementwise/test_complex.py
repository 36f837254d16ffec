"""Arithmetic, order and parts of complex numbers, and their unspecified results."""

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES, Array, to_bits
from suites.meta.reference.ops.elementwise.test_elementwise import BINARY
from suites.meta.support.one_op import DIRECTIONS, run
from suites.meta.support.ops.exact import NAN, are_same, nearest_number, numbers

COMPLEX_SAMPLES = [
    complex(x, y)
    for x in (-1.5, -0.0, 0.0, 2.0, math.inf, math.nan)
    for y in (-3.0, -0.0, 0.0, 1.0, -math.inf, math.nan)
]


def complex_pairs(name: str) -> tuple[Array, Array]:
    of = ELEMENT_TYPES[name].storage
    lhs = np.repeat(np.array(COMPLEX_SAMPLES), len(COMPLEX_SAMPLES)).astype(of)
    return lhs, np.tile(np.array(COMPLEX_SAMPLES), len(COMPLEX_SAMPLES)).astype(of)


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_complex_sums(name: str) -> None:
    lhs, rhs = complex_pairs(name)
    of = ELEMENT_TYPES[name].part
    for op in ("add", "subtract"):
        result, mask = run(op, lhs, rhs)
        invalid = np.zeros(lhs.shape, np.bool_)
        for part in (np.real, np.imag):
            left, right = (numbers(part(x).copy(), of) for x in (lhs, rhs))
            wanted = [BINARY[op](x, y) for x, y in zip(left, right, strict=True)]
            got = numbers(part(result).copy(), of)
            assert all(are_same(x, y) for x, y in zip(got, wanted, strict=True))
            made = [
                x == NAN and NAN not in pair
                for x, pair in zip(wanted, zip(left, right, strict=True), strict=True)
            ]
            invalid |= np.array(made)
        assert (mask == invalid).all()


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_complex_compare(name: str, direction: str) -> None:
    lhs, rhs = complex_pairs(name)
    result, mask = run("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], comparison_direction=direction)
    for x, y, got, masked in zip(
        lhs.tolist(), rhs.tolist(), result.tolist(), mask.tolist(), strict=True
    ):
        left, right = (x.real, x.imag), (y.real, y.imag)
        if direction in ("EQ", "NE"):
            assert not masked
            assert got == ((left == right) if direction == "EQ" else left != right)
        else:
            deciding = left[0], right[0]
            if left[0] == right[0]:
                deciding = left[1], right[1]
            assert masked == any(math.isnan(part) for part in deciding), (x, y)
            assert masked or got == DIRECTIONS[direction](left, right), (x, y)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_complex_extremum(name: str) -> None:
    lhs, rhs = complex_pairs("complex<f64>")
    result, mask = run(name, lhs, rhs)
    choose = max if name == "maximum" else min
    for x, y, got, masked in zip(
        lhs.tolist(), rhs.tolist(), result.tolist(), mask.tolist(), strict=True
    ):
        parts = (x.real, x.imag, y.real, y.imag)
        if any(math.isnan(part) for part in parts):
            assert masked
            continue
        plain = choose((x.real, x.imag), (y.real, y.imag))
        keys = [
            (p.real, math.copysign(1, p.real), p.imag, math.copysign(1, p.imag)) for p in (x, y)
        ]
        by_sign = choose(keys)[::2]
        differ = [
            math.copysign(1, a) != math.copysign(1, b) for a, b in zip(plain, by_sign, strict=True)
        ]
        assert masked or not (plain != by_sign or any(differ)), (x, y)
        assert (got.real, got.imag) == plain or masked


def test_complex_parts_and_modulus() -> None:
    lhs, rhs = complex_pairs("complex<f32>")
    made, _ = run(
        "complex", np.real(lhs).copy(), np.real(rhs).copy(), to=ELEMENT_TYPES["complex<f32>"]
    )
    f32 = ELEMENT_TYPES["f32"]
    assert to_bits(run("real", made, to=f32)[0]).tolist() == to_bits(np.real(lhs).copy()).tolist()
    assert to_bits(run("imag", made, to=f32)[0]).tolist() == to_bits(np.real(rhs).copy()).tolist()
    flipped = to_bits(run("negate", lhs)[0]) ^ to_bits(lhs)
    assert (flipped == 0x80000000).all()
    modulus, mask = run(
        "abs",
        np.array([3 + 4j, complex(math.inf, math.nan), 0, 1e300 + 1e308j * 1.7]),
        to=ELEMENT_TYPES["f64"],
    )
    assert modulus.tolist()[0] == 5.0
    assert mask.tolist() == [False, True, False, False]


def test_complex_sign() -> None:
    operand = np.array(
        [3 + 4j, 0, complex(-0.0, 0.0), complex(math.nan, 1), complex(math.inf, 1), -2j]
    )
    result, mask = run("sign", operand)
    assert result[0] == complex(0.6, 0.8)
    assert to_bits(result[1:3]).tolist() == [[0, 0], [0, 0]]
    assert np.isnan(result[3].real)
    assert np.isnan(result[3].imag)
    assert result[5] == -1j
    assert mask.tolist() == [False, False, False, False, True, False]


@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_complex_products(name: str) -> None:
    """Each part is the exact part rounded once; results that are not finite are unspecified."""
    drawn = np.random.Generator(np.random.Philox(3)).standard_normal((4, 60))
    lhs, rhs = drawn[0] + 1j * drawn[1], drawn[2] + 1j * drawn[3]
    result, mask = run(name, lhs, rhs)
    assert not mask.any()
    f64 = ELEMENT_TYPES["f64"].float_format
    for x, y, got in zip(lhs.tolist(), rhs.tolist(), result.tolist(), strict=True):
        a, b, c, d = (Fraction(part) for part in (x.real, x.imag, y.real, y.imag))
        scale = Fraction(1)
        if name == "divide":
            d, scale = -d, c * c + d * d
        real, imaginary = (a * c - b * d) / scale, (a * d + b * c) / scale
        assert are_same(Fraction(got.real), nearest_number(real, f64)[0])
        assert are_same(Fraction(got.imag), nearest_number(imaginary, f64)[0])
    specials, zeros = np.array([complex(math.inf, 0), complex(1, 0)]), np.array([0j, 0j])
    assert run(name, specials, zeros)[1].tolist() == [True, name == "divide"]


def test_remainder_of_complex_numbers_is_unspecified() -> None:
    lhs, rhs = np.array([5 + 1j, 3 + 4j]), np.array([2 + 0j, 1 - 1j])
    result, mask = run("remainder", lhs, rhs)
    assert mask.all()
    assert result[0] == 1 + 1j


def test_poles_of_complex_functions_are_unspecified() -> None:
    zero, one = np.array([0j, 1 + 0j]), np.array([1 + 0j, 1 + 0j])
    assert run("power", zero, one)[1].tolist() == [True, False]
    assert run("atan2", np.array([1j, 1 + 0j]), one)[1].tolist() == [True, False]
    assert run("log", zero)[1].tolist() == [True, False]
    assert run("exponential", np.array([complex(math.inf, 1), 1 + 1j]))[1].tolist() == [True, False]

"""The floating-point elementwise ops against an oracle of Python fractions (`exact.py`).

Exhaustive over all pairs of the types of at most six bits; over a grid of codes of wider types.
Each comparison also checks that `unspecified_elements` masks exactly the elements that the oracle
finds unspecified: no more, so that wrong results fail, and no fewer, so that right results pass.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference.ir.program import Attribute
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, NonFinite, to_bits
from suites.meta.support.one_op import (
    DIRECTIONS,
    REAL_TYPES,
    codes,
    number_pairs,
    order_key,
    ordered_pairs,
    pairs,
    run,
)
from suites.meta.support.ops.exact import (
    INF,
    NAN,
    NEGATIVE_INF,
    Number,
    are_same,
    decode,
    exact_value,
    floor_log2,
    is_negative,
    nearest_number,
    numbers,
)


def add_numbers(x: Number, y: Number) -> Number:
    if isinstance(x, str) or isinstance(y, str):
        if NAN in (x, y) or {x, y} == {INF, NEGATIVE_INF}:
            return NAN
        return x if isinstance(x, str) else y
    total = Fraction(x) + Fraction(y)
    return total or (-0.0 if is_negative(x) and is_negative(y) else 0.0)


def negate_number(x: Number) -> Number:
    if isinstance(x, str):
        return {NAN: NAN, INF: NEGATIVE_INF, NEGATIVE_INF: INF}[x]
    return -x


def apply_sign(magnitude: Number, negative: bool) -> Number:
    return negate_number(magnitude) if negative else magnitude


def multiply_numbers(x: Number, y: Number) -> Number:
    negative = is_negative(x) != is_negative(y)
    if NAN in (x, y):
        return NAN
    if isinstance(x, str) or isinstance(y, str):
        return NAN if 0 in (x, y) else apply_sign(INF, negative)
    return apply_sign(abs(Fraction(x) * Fraction(y)) or 0.0, negative)


def divide_numbers(x: Number, y: Number) -> Number:
    negative = is_negative(x) != is_negative(y)
    if NAN in (x, y) or (isinstance(x, str) and isinstance(y, str)) or (x == 0 and y == 0):
        return NAN
    if isinstance(y, str):
        return apply_sign(0.0, negative)
    if isinstance(x, str) or y == 0:
        return apply_sign(INF, negative)
    return apply_sign(abs(Fraction(x) / Fraction(y)) or 0.0, negative)


def remainder_of(x: Number, y: Number) -> Number:
    if isinstance(x, str) or y in (NAN, 0):
        return NAN
    if isinstance(y, str):
        return x
    left = abs(Fraction(x)) % abs(Fraction(y))
    return apply_sign(left or 0.0, is_negative(x))


def larger_number(x: Number, y: Number) -> Number:
    return NAN if NAN in (x, y) else max(x, y, key=order_key)


def smaller_number(x: Number, y: Number) -> Number:
    return NAN if NAN in (x, y) else min(x, y, key=order_key)


BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "add": add_numbers,
    "subtract": lambda x, y: add_numbers(x, negate_number(y)),
    "multiply": multiply_numbers,
    "divide": divide_numbers,
    "remainder": remainder_of,
    "maximum": larger_number,
    "minimum": smaller_number,
}


def assert_floats(
    actual: Array, open_: Array, wanted: list[Number], of: ElementType, inputs: list[Any]
) -> None:
    found = numbers(actual, of)
    for got, masked, want, given in zip(
        found, open_.reshape(-1).tolist(), wanted, inputs, strict=True
    ):
        number, left_open = nearest_number(want, of.float_format)
        assert masked == left_open, (given, want, got)
        if number is not None:
            assert are_same(got, number), (given, want, got)


@pytest.mark.slow
@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_floats(name: str, of: ElementType) -> None:
    lhs, rhs = pairs(of)
    result, mask = run(name, lhs, rhs)
    given = number_pairs(of)
    assert_floats(result, mask, [BINARY[name](x, y) for x, y in given], of, given)


def integral(apply: Callable[[Fraction], int]) -> Callable[[Number], Number]:
    def round_number(x: Number) -> Number:
        value = exact_value(x)
        return (
            x if value is None else apply_sign(abs(Fraction(apply(value))) or 0.0, is_negative(x))
        )

    return round_number


def round_away(x: Fraction) -> int:
    return math.floor(abs(x) + Fraction(1, 2)) * (-1 if x < 0 else 1)


def sign_of(x: Number) -> Number:
    if x == NAN or x == 0:
        return x
    return Fraction(-1 if is_negative(x) else 1)


UNARY: dict[str, Callable[[Number], Number]] = {
    "abs": lambda x: negate_number(x) if is_negative(x) else x,
    "ceil": integral(math.ceil),
    "floor": integral(math.floor),
    "imag": lambda _: 0.0,
    "negate": negate_number,
    "real": lambda x: x,
    "round_nearest_afz": integral(round_away),
    "round_nearest_even": integral(round),
    "sign": sign_of,
}


@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_floats(name: str, of: ElementType) -> None:
    operand = codes(of)
    result, mask = run(name, operand)
    given = numbers(operand, of)
    assert_floats(result, mask, [UNARY[name](x) for x in given], of, given)


@pytest.mark.parametrize("name", ["abs", "negate"])
@pytest.mark.parametrize("of", [of for of in REAL_TYPES if of.float_format.has_negative_zero])
def test_sign_bit_of_nan(name: str, of: ElementType) -> None:
    """Both are sign bit operations of IEEE-754 (5.5.1): they do not look at the number."""
    operand = codes(of)
    sign = 1 << (of.bits - 1)
    for got, given in zip(to_bits(run(name, operand)[0]), to_bits(operand), strict=True):
        assert int(got) == (int(given) & ~sign if name == "abs" else int(given) ^ sign)


@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
def test_sqrt(of: ElementType) -> None:
    """The result's rounding interval, squared, holds the operand."""
    operand = codes(of)
    result, mask = run("sqrt", operand)
    fmt = of.float_format
    for x, root, masked in zip(
        numbers(operand, of), numbers(result, of), mask.tolist(), strict=True
    ):
        if x == NAN or (is_negative(x) and x != 0):
            assert masked == (not fmt.has_nan)
            assert masked or root == NAN
        elif x == INF or x == 0:
            assert are_same(root, x)
        elif not masked:
            value, middle = Fraction(x), Fraction(root)
            ulp = Fraction(2) ** (max(floor_log2(middle), fmt.min_exponent) - fmt.mantissa_bits)
            below = ulp / 2 if floor_log2(middle) == floor_log2(middle - ulp / 4) else ulp / 4
            assert (middle - below) ** 2 <= value <= (middle + ulp / 2) ** 2, x


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
def test_compare_floats(of: ElementType, direction: str) -> None:
    lhs, rhs = pairs(of)
    result, mask = run("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], comparison_direction=direction)
    assert not mask.any()
    for pair, got in zip(ordered_pairs(of), result.tolist(), strict=True):
        if pair is None:
            assert got == (direction == "NE")
        else:
            assert got == DIRECTIONS[direction](*pair), pair


def total_key(code: int, of: ElementType) -> int:
    """Sign and magnitude as one number; -0 goes just before +0."""
    if not of.float_format.signed:
        return code
    magnitude = code % (1 << (of.bits - 1))
    return -1 - magnitude if code >> (of.bits - 1) else magnitude


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
def test_total_order(of: ElementType, direction: str) -> None:
    lhs, rhs = pairs(of)
    given: dict[str, Attribute] = {"comparison_direction": direction, "compare_type": "TOTALORDER"}
    result, mask = run("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], **given)
    no_sign = of.float_format.non_finite is NonFinite.NAN_NEGATIVE_ZERO
    for x, y, got, masked in zip(
        to_bits(lhs).tolist(), to_bits(rhs).tolist(), result.tolist(), mask.tolist(), strict=True
    ):
        nans = [decode(code, of) == NAN for code in (x, y)]
        same_sign = x >> (of.bits - 1) == y >> (of.bits - 1)
        if no_sign:
            assert masked == (nans[0] != nans[1] and direction not in ("EQ", "NE"))
        else:
            assert masked == (all(nans) and same_sign and x != y)
        if not masked:
            assert got == DIRECTIONS[direction](total_key(x, of), total_key(y, of)), (x, y)


def test_total_order_of_f32() -> None:
    order = np.array([-np.nan, -np.inf, -1, -1e-45, -0.0, 0.0, 1e-45, 1, np.inf, np.nan], "f4")
    order[0], order[-1] = np.copysign(order[0], -1), np.copysign(order[-1], 1)
    given: dict[str, Attribute] = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    less, mask = run("compare", order[:-1], order[1:], to=ELEMENT_TYPES["i1"], **given)
    assert less.all()
    assert not mask.any()


@pytest.mark.parametrize("of", REAL_TYPES, ids=str)
def test_is_finite(of: ElementType) -> None:
    result, mask = run("is_finite", codes(of), to=ELEMENT_TYPES["i1"])
    assert result.tolist() == [not isinstance(x, str) for x in numbers(codes(of), of)]
    assert not mask.any()


def reduced_code(code: int, of: ElementType, exponent_bits: int, mantissa_bits: int) -> int | None:
    """Return `reduce_precision` by integer arithmetic on the bits; None if the result is
    unspecified."""
    fmt = of.float_format
    magnitude = code % (1 << (of.bits - 1)) if fmt.signed else code
    sign = code - magnitude
    infinity = ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits
    if magnitude > infinity and mantissa_bits == 0:
        return None  # without a mantissa there is no NaN
    if magnitude >= infinity:
        return code
    subnormal = 0 < magnitude < 1 << fmt.mantissa_bits
    if subnormal and mantissa_bits < fmt.mantissa_bits and exponent_bits >= fmt.exponent_bits:
        return None
    dropped = fmt.mantissa_bits - mantissa_bits
    if dropped > 0:
        unit, rest = 1 << dropped, magnitude % (1 << dropped)
        odd = magnitude >> dropped & 1
        if mantissa_bits == 0 and rest == unit // 2 and magnitude >> fmt.mantissa_bits:
            # the two powers of two differ unless both overflow or both underflow
            bias = (1 << (exponent_bits - 1)) - 1
            below = (magnitude >> fmt.mantissa_bits) - fmt.bias
            if exponent_bits >= fmt.exponent_bits or -bias <= below <= bias:
                return None
        up = rest > unit // 2 or (rest == unit // 2 and odd)
        magnitude = magnitude - rest + (unit if up else 0)
    if exponent_bits < fmt.exponent_bits and magnitude:
        bias = (1 << (exponent_bits - 1)) - 1
        exponent = (magnitude >> fmt.mantissa_bits) - fmt.bias
        if exponent > bias:
            magnitude = infinity
        elif exponent <= -bias:
            magnitude = 0
    return sign + magnitude


@pytest.mark.parametrize("of", [of for of in REAL_TYPES if of.float_format.has_infinity], ids=str)
def test_reduce_precision(of: ElementType) -> None:
    operand = codes(of)
    fmt = of.float_format
    for exponent_bits in sorted({1, 2, 3, fmt.exponent_bits - 1, fmt.exponent_bits, 12}):
        for mantissa_bits in sorted({0, 1, fmt.mantissa_bits // 2, fmt.mantissa_bits, 60}):
            result, mask = run(
                "reduce_precision", operand,
                exponent_bits=exponent_bits, mantissa_bits=mantissa_bits,
            )  # fmt: skip
            for given, got, masked in zip(
                to_bits(operand).tolist(), to_bits(result).tolist(), mask.tolist(), strict=True
            ):
                want = reduced_code(given, of, exponent_bits, mantissa_bits)
                assert masked == (want is None), (hex(given), exponent_bits, mantissa_bits)
                assert want is None or got == want, (hex(given), exponent_bits, mantissa_bits)


def test_reduce_precision_without_infinity() -> None:
    """Beyond an IEEE format's range: overflow is unspecified in a format without infinity, and so
    is whether the reduced format has an IEEE range at all.
    """
    operand = np.array([448.0, 1.0, 2.0, 0.5, 0.0]).astype(ELEMENT_TYPES["f8E4M3FN"].storage)
    result, mask = run("reduce_precision", operand, exponent_bits=2, mantissa_bits=3)
    assert mask.tolist() == [True, False, False, True, False]
    assert result.astype(np.float64)[1:].tolist() == [1.0, 2.0, 0.0, 0.0]

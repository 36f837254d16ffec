"""The elementwise ops on integers and booleans against Python's integers; choosing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference.ir.program import Attribute
from reference.ir.types import ALL, ELEMENT_TYPES, INTEGERS, SIGNED, Array, ElementType, to_bits
from suites.meta.support.one_op import DIRECTIONS, codes, pairs, run, samples
from suites.meta.support.ops.exact import integers, wrap


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def integer_power(x: int, y: int, of: ElementType) -> int | None:
    """Open where too large; 2 to the power of the width is already."""
    power = x ** min(y, of.bits + y % 2) if y >= 0 else of.max_integer + 1
    return power if of.min_integer <= power <= of.max_integer else None


def bits_of(x: int, of: ElementType) -> int:
    return x % (1 << of.bits)


INTEGER_BINARY: dict[str, Callable[[int, int, ElementType], int | None]] = {
    "add": lambda x, y, _: x + y,
    "subtract": lambda x, y, _: x - y,
    "multiply": lambda x, y, _: x * y,
    "maximum": lambda x, y, _: max(x, y),
    "minimum": lambda x, y, _: min(x, y),
    "and": lambda x, y, _: x & y,
    "or": lambda x, y, _: x | y,
    "xor": lambda x, y, _: x ^ y,
    "divide": lambda x, y, of: (
        None if y == 0 or quotient(x, y) > of.max_integer else quotient(x, y)
    ),
    "remainder": lambda x, y, of: (
        None if y == 0 or quotient(x, y) > of.max_integer else x - y * quotient(x, y)
    ),
    "power": integer_power,
    "shift_left": lambda x, y, of: x << y if 0 <= y < of.bits else None,
    "shift_right_arithmetic": lambda x, y, of: (
        wrap(x, ELEMENT_TYPES[f"si{of.bits}"]) >> y if 0 <= y < of.bits else None
    ),
    "shift_right_logical": lambda x, y, of: bits_of(x, of) >> y if 0 <= y < of.bits else None,
}


def assert_integers(
    result: Array, mask: Array, wanted: list[int | None], of: ElementType, inputs: list[Any]
) -> None:
    for got, masked, want, given in zip(
        integers(result), mask.reshape(-1).tolist(), wanted, inputs, strict=True
    ):
        assert masked == (want is None), given
        assert want is None or got == wrap(want, of), given


@pytest.mark.parametrize("of", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_binary_integers(name: str, of: ElementType) -> None:
    lhs, rhs = pairs(of)
    result, mask = run(name, lhs, rhs)
    given = list(zip(integers(lhs), integers(rhs), strict=True))
    wanted = [INTEGER_BINARY[name](x, y, of) for x, y in given]
    assert_integers(result, mask, wanted, of, given)


@pytest.mark.parametrize("of", INTEGERS, ids=str)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_compare_integers(direction: str, of: ElementType) -> None:
    lhs, rhs = pairs(of)
    result, mask = run("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], comparison_direction=direction)
    given = zip(integers(lhs), integers(rhs), strict=True)
    assert result.tolist() == [DIRECTIONS[direction](x, y) for x, y in given]
    assert not mask.any()


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_unary_integers(of: ElementType) -> None:
    operand = codes(of)
    given = integers(operand)
    counts = [bits_of(x, of).bit_count() for x in given]
    leading = [of.bits - bits_of(x, of).bit_length() for x in given]
    rows: dict[str, list[int | None]] = {
        "negate": [-x for x in given],
        "not": [~x for x in given],
        "popcnt": [count if count <= of.max_integer else None for count in counts],
        "count_leading_zeros": [zeros if zeros <= of.max_integer else None for zeros in leading],
    }
    if of in SIGNED:
        rows["abs"] = [abs(x) for x in given]
        rows["sign"] = [(x > 0) - (x < 0) for x in given]
    for name, wanted in rows.items():
        assert_integers(*run(name, operand), wanted, of, given)


def test_booleans() -> None:
    lhs, rhs = np.array([False, False, True, True]), np.array([False, True, False, True])
    both, either = [False, False, False, True], [False, True, True, True]
    for name in ("multiply", "minimum", "and"):
        assert run(name, lhs, rhs)[0].tolist() == both
    for name in ("add", "maximum", "or"):
        assert run(name, lhs, rhs)[0].tolist() == either
    assert run("xor", lhs, rhs)[0].tolist() == [False, True, True, False]
    assert run("not", lhs)[0].tolist() == [True, True, False, False]
    given: dict[str, Attribute] = {"comparison_direction": "LT", "compare_type": "UNSIGNED"}
    assert run("compare", lhs, rhs, **given)[0].tolist() == [False, True, False, False]


@pytest.mark.parametrize("of", ALL, ids=str)
def test_select(of: ElementType) -> None:
    yes, no = samples(of)[:4], samples(of)[::-1][:4].copy()
    pred = np.arange(len(yes)) % 2 == 0
    result, mask = run("select", pred, yes, no)
    wanted = [to_bits(y if p else n).tolist() for p, y, n in zip(pred, yes, no, strict=True)]
    assert [to_bits(one).tolist() for one in result] == wanted
    assert not mask.any()
    for scalar, chosen in ((True, yes), (False, no)):
        result, _ = run("select", np.array(scalar), yes, no)
        assert to_bits(result).tolist() == to_bits(chosen).tolist()


@pytest.mark.parametrize("of", [of for of in ALL if not of.is_complex], ids=str)
def test_clamp_is_minimum_of_maximum(of: ElementType) -> None:
    operand = codes(of)
    low, high = np.roll(operand, 1), np.roll(operand, 3)
    result, _ = run("clamp", low, operand, high)
    wanted = run("minimum", run("maximum", operand, low)[0], high)[0]
    assert to_bits(result).tolist() == to_bits(wanted).tolist()
    for one in range(len(operand))[:: max(1, len(operand) // 8)]:
        bounds = np.full_like(operand, operand[one])
        scalar = run("clamp", operand[one : one + 1].reshape(()), operand, high)[0]
        assert to_bits(scalar).tolist() == to_bits(run("clamp", bounds, operand, high)[0]).tolist()

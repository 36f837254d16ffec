"""Numbers with errors: they contain the results of rounded arithmetic, and no more."""

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.intervals import Arithmetic, Interval, exact_interval
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, FLOATS
from reference.numerics.rounding import round_to, to_float64
from suites.meta.support.ops.normalization import (
    NORMALIZED,
    OPS_HERE,
    fill_values,
    operands_of,
    program,
)


@pytest.mark.parametrize("name", ["f8E4M3", "f16", "f32"])
def test_intervals_contain_rounded_results(name) -> None:
    of = ELEMENT_TYPES[name]
    x, y = (to_float64(fill_values(name, (300,), "unit", seed)) for seed in (1, 2))

    def round_numbers(numbers):
        return to_float64(round_to(np.asarray(numbers, np.float64), of))

    loose = Arithmetic(of, quotient=3.0)
    one, two = exact_interval(x, loose), exact_interval(y, loose)
    total = float(0)
    for number in x:
        total = float(round_numbers(total + number))
    pairs = (
        (one + two, round_numbers(x + y)),
        (one - two * two, round_numbers(x - round_numbers(y * y))),
        (one * two + one, round_numbers(round_numbers(x * y) + x)),
        (one / (two + 3), round_numbers(x / round_numbers(y + 3))),
        (one / (two + 3), round_numbers(x * round_numbers(1 / round_numbers(y + 3)))),
        (np.sqrt(one * one), round_numbers(np.sqrt(round_numbers(x * x)))),
        (np.add.reduce(one, axis=(0,), keepdims=True), np.array([total])),
    )
    for number, (interval, numbers) in enumerate(pairs):
        assert isinstance(interval, Interval)
        assert ((interval.low <= numbers) & (numbers <= interval.high)).all()
        if number < len(pairs) - 1:  # so many f8 may overflow
            assert np.isfinite([interval.low, interval.high]).all()
            assert not interval.nan.any()


def ends(interval):
    return interval.low.tolist(), interval.high.tolist()


def test_exact_results_and_overflow_are_certain() -> None:
    of = ELEMENT_TYPES["f16"]
    integers = exact_interval(np.array([1.0, 2.0, 3.0]), Arithmetic(of))
    assert ends(integers + integers) == ([2, 4, 6], [2, 4, 6])
    assert ends(np.add.reduce(integers, axis=(0,), keepdims=True)) == ([6], [6])
    third = integers / 3
    assert (third.low < third.high).tolist() == [True, True, False]
    assert ends(integers * 40000) == ([40000, np.inf, np.inf], [40000, np.inf, np.inf])
    inverse = 1 / (integers - 2)
    assert [ends(inverse), inverse.nan.tolist()] == [([-1, np.inf, 1],) * 2, [False] * 3]
    assert (0 / (integers - 2)).nan.tolist() == [False, True, False]
    assert np.isnan((0 / (integers - 2)).low).tolist() == [False, True, False]
    few = ELEMENT_TYPES["f8E8M0FNU"]
    negative = exact_interval(np.array([2.0]), Arithmetic(few)) - 4  # which that type does not have
    assert [ends(negative), negative.nan.tolist()] == [([-np.inf], [np.inf]), [True]]


def test_undecided_overflow_and_division_permit_both() -> None:
    arithmetic = Arithmetic(ELEMENT_TYPES["f16"])
    around = Interval(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]), False, arithmetic)
    quotient = 1 / around
    assert ends(quotient)[0][:2] == [-np.inf, 1 - 2.0**-11]
    assert ends(quotient)[1][:2] == [np.inf, np.inf]
    assert quotient.nan.tolist() == [False, False, False]
    assert (around / around).nan.tolist() == [True, True, False]
    assert np.sqrt(around).nan.tolist() == [True, False, False]
    large = exact_interval(np.array([40000.0, 40000.0, -40000.0]), arithmetic)
    total = np.add.reduce(large, axis=(0,), keepdims=True)
    assert ends(total) == ([40000], [np.inf])  # in one order or another
    assert not total.nan.any()
    total = np.add.reduce(large * 2, axis=(0,), keepdims=True)
    assert [np.isnan(total.low).tolist(), total.nan.tolist()] == [[True], [True]]  # inf - inf
    squares = around * around
    assert squares.low.tolist()[:2] == [0, 0]


@pytest.mark.slow
def test_every_floating_point_type_is_judged_without_error() -> None:
    for of in FLOATS:
        for op in OPS_HERE:
            operands = operands_of(op, of.name, (2, 3), 1, profile="special")
            made = program(op, operands, 0.5, 1)
            right = evaluate(made, operands)
            other = tuple(np.flip(one, axis=0).copy() for one in right)
            assert judge(made, operands, right, other, NORMALIZED).total == sum(
                one.size for one in right
            )


def test_intervals_keep_the_sign_of_an_exact_zero() -> None:
    """1 / sqrt(-0) is -inf, for a variance of -0 if an epsilon of 0 is omitted."""
    interval = exact_interval(np.array([-0.0, 0.0]), Arithmetic(ELEMENT_TYPES["f32"]))
    root = 1 / np.sqrt(interval)
    assert root.low.tolist() == root.high.tolist() == [-np.inf, np.inf]


def test_an_epsilon_in_wider_arithmetic_does_not_permit_wrong_results() -> None:
    """1e-5 is 0 in f8E4M3B11FNUZ. Folded in f16, where it is not 0, x s and mean s cancel to 0."""
    of = ELEMENT_TYPES["f8E4M3B11FNUZ"]
    row, whole = TensorType((1,), of), TensorType((1, 1), of)
    names = ("scale", "offset", "mean", "variance")
    program = single_op(
        "batch_norm_inference",
        (Value("operand", whole), *(Value(name, row) for name in names)),
        (whole,),
        {"epsilon": float(np.float32(1e-5)), "feature_index": 1},
    )
    numbers = ([[8.0]], [-0.6875], [-0.28125], [8.0], [0.0])
    operands = tuple(np.array(one).astype(of.storage) for one in numbers)
    (expected,) = evaluate(program, operands)
    assert np.isnan(expected.astype(np.float64)).all()  # 0 / 0
    for got in (0.0, -0.28125, 28.0):
        actual = np.full((1, 1), got).astype(of.storage)
        found = judge(program, operands, (expected,), (actual,), RULES["batch normalization"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "NaN")


def test_value_rounded_to_largest_number_does_not_overflow() -> None:
    """-450.6 in f32 is -448 in f8E4M3FN; with an epsilon of its own type it is -320."""
    of = ELEMENT_TYPES["f8E4M3FN"]
    row = TensorType((1,), of)
    names = ("operand", "scale", "mean", "variance", "grad_output")
    program = single_op(
        "batch_norm_grad",
        tuple(Value(name, row) for name in names),
        (row,) * 3,
        {"epsilon": float(np.float32(1e-3)), "feature_index": 0},
    )
    operands = tuple(np.array([one]).astype(of.storage) for one in (-5, -1, -0.25, 0, 3))
    expected = evaluate(program, operands)
    assert float(expected[1][0]) == -320
    for got in (-448, -208):
        actual = (expected[0], np.array([got]).astype(of.storage), expected[2])
        found = judge(program, operands, expected, actual, RULES["batch normalization"])
        assert found.verdict.fails

"""Complex arithmetic is unspecified where a part raises a floating-point exception."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.arithmetic import abs as modulus
from reference.numerics.arithmetic import add, quiet
from reference.unspecified import complex_arithmetic as reasons

INF, NAN, BIG = np.inf, np.nan, 3e38
ADD = Operation("add")


def numbers(*values: complex) -> Array:
    return np.array(values, np.complex64)


def mask(found: list[tuple[str, Array]]) -> list[bool]:
    ((_, only),) = found
    return only.tolist()


@quiet
def test_sums_that_overflow_or_cancel_infinities() -> None:
    lhs = numbers(BIG, complex(0, INF), complex(INF, 1), complex(NAN, 1), 1)
    rhs = numbers(BIG, complex(0, -INF), complex(INF, 1), complex(1, 1), 1)
    found = reasons.complex_sum(ADD, (lhs, rhs), add(lhs, rhs))
    assert mask(found) == [True, True, False, False, False]
    real = np.real(lhs)
    assert reasons.complex_sum(ADD, (real, real), real) == []


def test_results_and_operands_that_are_not_finite() -> None:
    operand, result = numbers(1, INF, 1, 1), numbers(1, 1, complex(NAN, 0), 1)
    found = reasons.complex_exception(Operation("tanh"), (operand,), result)
    assert mask(found) == [False, True, True, False]


def test_powers_of_zero_take_its_logarithm() -> None:
    zero, one = numbers(0, 1), numbers(1, 1)
    assert mask(reasons.complex_exception(Operation("power"), (zero, one), one)) == [True, False]
    assert mask(reasons.complex_exception(Operation("multiply"), (zero, one), one)) == [False] * 2


def test_atan2_at_its_pole() -> None:
    lhs, rhs = numbers(1j, -1j, 2j, 1), numbers(1, 1, 1, 1)
    found = reasons.complex_exception(Operation("atan2"), (lhs, rhs), numbers(0, 0, 0, 0))
    assert mask(found) == [True, True, False, False]


def test_the_lower_side_of_a_branch_cut() -> None:
    below, above = complex(-1, -0.0), complex(-1, 0.0)
    operand = numbers(below, above, complex(1, -0.0), complex(-1, -1), complex(0, -0.0))
    found = reasons.branch_cut(Operation("log"), (operand,), operand)
    assert mask(found) == [True, False, False, False, False]


@quiet
def test_moduli_that_overflow_or_are_of_nan() -> None:
    operand = numbers(complex(BIG, BIG), complex(INF, NAN), complex(INF, 1), complex(NAN, 1), 5)
    found = reasons.complex_abs(Operation("abs"), (operand,), modulus(operand))
    assert mask(found) == [True, True, False, False, False]


@quiet
def test_signs_divide_by_an_infinite_modulus() -> None:
    operand = numbers(complex(BIG, BIG), complex(INF, 0), complex(INF, NAN), 1)
    found = reasons.complex_sign(Operation("sign"), (operand,), operand)
    assert mask(found) == [True, True, False, False]


def test_every_complex_remainder() -> None:
    operand = numbers(1, 2)
    found = reasons.complex_remainder(Operation("remainder"), (operand, operand), operand)
    assert mask(found) == [True, True]
    real = np.real(operand)
    assert (
        mask(reasons.complex_remainder(Operation("remainder"), (real, real), real)) == [False] * 2
    )


@pytest.mark.parametrize("name", ["complex_exception", "branch_cut", "complex_abs", "complex_sign"])
def test_real_numbers_are_not_affected(name: str) -> None:
    real = np.array([INF, -1.0, NAN])
    assert getattr(reasons, name)(Operation("power"), (real, real), real) == []

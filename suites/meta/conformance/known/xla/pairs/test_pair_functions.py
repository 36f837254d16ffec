"""Errors and failures of functions of pairs, from the formulas that compilers write for them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conformance.known.xla.pairs.pair_functions import COMPLEX_WEAKNESSES, WEAKNESSES, Weakness
from reference.ir.types import Array


def operands_of(numbers: list[complex]) -> list[Array]:
    return [np.array([number]) for number in numbers]


def weakness(op: str, numbers: list[complex]) -> Weakness:
    return (COMPLEX_WEAKNESSES if any(map(np.iscomplexobj, numbers)) else WEAKNESSES)[op]


@pytest.mark.parametrize(
    ("op", "numbers", "error"),
    [
        ("tanh", [2.0**-40], 2.0**-62),  # in f32
        ("tanh", [-3.0], 2.0**-44),
        ("remainder", [-8.0, 3.0], 2.0**-41),
        ("power", [3.0, 2.0], 9 * 2 * math.log(3) * 2.0**-46),
        ("power", [0.5, -2.0], 4 * 2 * math.log(2) * 2.0**-46),
        ("power", [0.0, 2.0], 0),
        ("sine", [3.0], 0),
        ("sine", [3 + 2.0**-40 * 1j], 2.0**-62),
        ("tan", [3 - 2j], 2.0**-44),
        ("cosine", [3 - 2j], 0),
        ("power", [math.e**2 + 0j, -44 + 0j], math.exp(-88)),  # below the least normal number
        ("power", [math.e**2 + 0j, -43 + 0j], 0),
        ("power", [-1 + 0j, 1 + 30j], math.exp(-30 * math.pi)),
    ],
)
def test_errors_are_those_of_the_formula(op: str, numbers: list[complex], error: float) -> None:
    with np.errstate(all="ignore"):
        (found,) = weakness(op, numbers).errors(*operands_of(numbers))
    assert found == pytest.approx(error, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("op", "fails", "does_not"),
    [
        ("sine", [2.0**30 + 1], [-(2.0**30)]),
        ("tan", [-(2.0**31)], [1.0]),
        ("tanh", [-88.5], [88.0]),
        ("remainder", [2.0**125, 1.0], [2.0**124, 1.0]),
        ("remainder", [1.0, 0.0], [0.0, 1.0]),
        ("power", [0.0, 2.0**-127], [0.0, 2.0**-126]),
        ("power", [math.inf, 0.0], [2.0, 0.0]),
        ("power", [1.0, math.inf], [2.0, math.inf]),
        ("cosine", [2.0**31 * 1j], [2.0**30 * 1j]),
        ("exponential", [complex(1, 2.0**31)], [complex(1, 1)]),
        ("sign", [complex(0, 2.0**64)], [complex(0, 2.0**63)]),
        ("log_plus_one", [complex(-(2.0**64), 0)], [complex(1, 0)]),
        ("tan", [complex(1, -44.5)], [complex(50, 44)]),
        ("logistic", [complex(-89, 0)], [complex(89, 0)]),
        ("power", [complex(2, 0), complex(128, 0)], [complex(2, 0), complex(126, 0)]),
        ("power", [complex(-1, 0), complex(0, -29)], [complex(-1, 0), complex(0, -28)]),
        ("atan2", [complex(0, 0), complex(0, 0)], [complex(0, 0), complex(1, 0)]),
        ("atan2", [complex(1, 2), complex(2, 2.0**64)], [complex(1, 2), complex(2, 2.0**63)]),
        ("atan2", [complex(0, -(2.0**65)), complex(1, 0)], [complex(0, 2.0**62), complex(1, 0)]),
        ("atan2", [complex(2.0**-64, 0)] * 2, [complex(2.0**-62, 0)] * 2),
        ("atan2", [complex(1, 0), complex(0, 1)], [complex(1, 0), complex(0, 2)]),
    ],
)
def test_operands_out_of_the_range_of_a_step_fail(
    op: str, fails: list[complex], does_not: list[complex]
) -> None:
    function = weakness(op, does_not)
    with np.errstate(all="ignore"):
        for numbers, found in ((fails, True), (does_not, False)):
            assert not numbers or function.fails(*operands_of(numbers)).tolist() == [found]


@pytest.mark.parametrize(
    ("lhs", "rhs", "negated"),
    [(-2.0, -3.0, True), (-2.0, 3.0, False), (-2.0, -4.0, False), (2.0, -3.0, False)],
)
def test_negative_odd_powers_of_negative_numbers_have_the_wrong_sign(
    lhs: float, rhs: float, negated: bool
) -> None:
    operands = operands_of([lhs, rhs])
    assert WEAKNESSES["power"].negated(*operands).tolist() == [negated]
    assert not WEAKNESSES["remainder"].negated(*operands).any()


def test_only_an_angle_by_a_logarithm_has_an_absolute_error() -> None:
    found = {op for op, one in COMPLEX_WEAKNESSES.items() if one.absolute}
    assert found == {"atan2"}
    assert not any(one.absolute for one in WEAKNESSES.values())

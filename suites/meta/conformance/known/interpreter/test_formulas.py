"""Complex functions by textbook formulas: results that the formulas give, and results nearby."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.interpreter import formulas
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import tensor_of

NAN, INF = math.nan, math.inf
SMALL = 1 / math.exp(90)


def is_explained(
    hypothesis: Hypothesis, operands: list[complex], got: complex, of: str = "f64"
) -> bool:
    """Return whether a result is of the class; the specified result is a distant number."""
    kind = tensor_of(1, of=f"complex<{of}>")
    storage = kind.element.storage
    values = tuple(Value(f"x{number}", kind) for number in range(len(operands)))
    operation = single_op("multiply", values, (kind,), {}).subject
    taken = tuple(np.array([number]).astype(storage) for number in operands)
    expected, actual = (np.array([number]).astype(storage) for number in (-777 - 777j, got))
    assert hypothesis.errors is not None
    (errors,) = hypothesis.errors(operation, taken, (expected,), (actual,))
    return bool(errors[0] <= 1)


@pytest.mark.parametrize(
    ("name", "operands", "got", "wrong"),
    [
        ("MULTIPLY", [1 + 2j, 3 + 4j], -5 + 10j, -5 + 10.0001j),
        ("MULTIPLY", [1e200 + 0j, 1e200 + 0j], complex(INF, NAN), 1 + 0j),
        ("DIVIDE", [-5 + 10j, 3 + 4j], 1 + 2j, 1 + 2.0001j),
        ("DIVIDE", [1e300j, 1e150 + 1e-180j], 1e150j, 1e-170 + 1e150j),  # d / c is 0
        ("CBRT", [-8 + 0j], complex(1, math.sqrt(3)), -2 + 0j),
        ("CBRT", [8j], complex(math.sqrt(3), 1), complex(-math.sqrt(3), 1)),
        ("CBRT", [1e200 + 0j], complex(INF, NAN), 1 + 0j),
        ("EXPONENTIAL_MINUS_ONE", [1e-12 + 0j], complex((1 + 1e-12) - 1, 0), 1.01e-12 + 0j),
        ("LOG_PLUS_ONE", [-2.5 - 0j], complex(math.log(1.5), math.pi), math.log(1.5) + 3j),
        ("LOG_PLUS_ONE", [1e-20 + 0j], 0j, 1e-20 + 1e-3j),
        ("POWER", [1j, 1j], complex(math.exp(-math.pi / 2), 0), math.exp(-math.pi / 2) + 1e-9j),
        ("POWER", [0j, 0j], complex(NAN, NAN), 1 + 0j),
        ("LOGISTIC", [0j], 0.5 + 0j, 0.5001 + 0j),
        ("ATAN2", [1 + 0j, 1 + 0j], complex(math.pi / 4, 0), 0.78 + 0j),
    ],
)
def test_only_results_of_the_formula_are_explained(
    name: str, operands: list[complex], got: complex, wrong: complex
) -> None:
    hypothesis = getattr(formulas, name)
    assert is_explained(hypothesis, operands, got)
    assert not is_explained(hypothesis, operands, wrong)


def test_sum_that_turns_minus_zero_into_zero_changes_the_side_of_the_cut() -> None:
    for side, explained in ((math.pi, True), (-math.pi, False)):
        got = complex(math.log(1.5), side)
        found = is_explained(formulas.LOG_PLUS_ONE, [complex(-2.5, -0.0)], got)
        assert found is explained


@pytest.mark.parametrize(("real", "explained"), [(2.0**-24, True), (0.0, False)])
def test_products_of_f32_are_computed_in_f64(real: float, explained: bool) -> None:
    """The product of 1 + 2^-12 with itself is 1 + 2^-11 + 2^-24, in f32 without its last term."""
    operands = [complex(1 + 2.0**-12, 1 + 2.0**-11), complex(1 + 2.0**-12, 1)]
    got = complex(real, 2 + 2.0**-10)
    assert is_explained(formulas.MULTIPLY, operands, got, "f32") is explained


@pytest.mark.parametrize(("of", "got", "wrong"), [("f32", 0, SMALL), ("f64", SMALL, 0)])
def test_logistic_overflows_in_its_own_type(of: str, got: float, wrong: float) -> None:
    """The exponential of 90 exceeds the largest number of f32; its reciprocal is 8.2e-40."""
    assert is_explained(formulas.LOGISTIC, [-90 + 0j], complex(got), of)
    assert not is_explained(formulas.LOGISTIC, [-90 + 0j], complex(wrong), of)

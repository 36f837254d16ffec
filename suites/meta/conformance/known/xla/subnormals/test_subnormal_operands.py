"""Functions that take subnormal operands for half the smallest number of their type."""

from __future__ import annotations

import math

import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.subnormals import subnormal_operands
from conformance.known.xla.subnormals.subnormal_operands import COMPLEX_SIGN, LABEL
from reference.ir.program import Operation
from suites.meta.support.small_programs import array

CALL = Operation("log", (), ())
TINY = {"f32": 2.0**-130, "f64": 2.0**-1060, "bf16": 2.0**-130, "f8E8M0FNU": 2.0**-127}
"""Numbers that are subnormal, the last of them in f32."""


def ulps(hypothesis: Hypothesis, of: str, operands: list[float], got: float) -> float:
    taken = tuple(array([number], of) for number in operands)
    assert hypothesis.ulps is not None
    assert hypothesis.errors is not None
    given = CALL, taken, (array([1.0], of),), (array([got], of),)
    (errors,), (found,) = hypothesis.errors(*given), hypothesis.ulps(*given)
    units = {"LOGARITHM": 3, "POWER": 1, "CUBE_ROOT": 2, "ANGLE": 3}
    (unit,) = (
        number for name, number in units.items() if getattr(subnormal_operands, name) is hypothesis
    )
    assert errors[0] == found[0] / unit
    return float(found[0])


@pytest.mark.parametrize(
    ("name", "of", "operands", "result"),
    [
        ("LOGARITHM", "f32", [TINY["f32"]], -150 * math.log(2)),
        ("LOGARITHM", "f32", [TINY["f32"] / 4], -150 * math.log(2)),
        ("LOGARITHM", "bf16", [TINY["bf16"]], -150 * math.log(2)),
        ("POWER", "f32", [TINY["f32"], 0.5], 2.0**-75),
        ("POWER", "f32", [TINY["f32"], -1.0], math.inf),
        ("POWER", "f64", [TINY["f64"], 0.5], 2.0**-537.5),
        ("POWER", "f8E8M0FNU", [TINY["f8E8M0FNU"], 0.5], 2.0**-75),
        ("CUBE_ROOT", "f32", [TINY["f32"]], -(2.0 ** (-152 / 3))),
        ("CUBE_ROOT", "f32", [-TINY["f32"]], -(2.0 ** (-152 / 3))),
        ("ANGLE", "f32", [TINY["f32"], TINY["f32"]], math.nan),
        ("ANGLE", "f64", [TINY["f64"], -1.0], -math.pi),
    ],
)
def test_all_subnormal_operands_have_the_same_result(
    name: str, of: str, operands: list[float], result: float
) -> None:
    hypothesis = getattr(subnormal_operands, name)
    assert hypothesis.label == LABEL
    assert ulps(hypothesis, of, operands, result) == 0
    assert ulps(hypothesis, of, operands, 1.0) > 3


@pytest.mark.parametrize(
    ("name", "of", "operands", "got"),
    [
        ("LOGARITHM", "f32", [2.0**-126], -150 * math.log(2)),
        ("LOGARITHM", "f32", [-TINY["f32"]], -150 * math.log(2)),
        ("LOGARITHM", "f64", [TINY["f64"]], -1075 * math.log(2)),
        ("LOGARITHM", "f8E8M0FNU", [TINY["f8E8M0FNU"]], 2.0),
        ("POWER", "f32", [-TINY["f32"], 0.5], 2.0**-75),
        ("POWER", "f16", [2.0**-20, 0.5], 2.0**-12),
        ("CUBE_ROOT", "f64", [TINY["f64"]], -(2.0 ** (-1077 / 3))),
        ("ANGLE", "f32", [TINY["f32"], 1.0], math.nan),
        ("ANGLE", "f64", [TINY["f64"], TINY["f64"]], -0.0),
    ],
)
def test_other_operands_and_types_have_no_prediction(
    name: str, of: str, operands: list[float], got: float
) -> None:
    assert ulps(getattr(subnormal_operands, name), of, operands, got) == math.inf


def test_sign_of_a_subnormal_complex_number_is_the_number() -> None:
    z = array([complex(2.0**-130, -(2.0**-140)), complex(2.0**-130, 1)], "complex<f32>")
    expected = array([9, 8j], "complex<f32>")
    assert COMPLEX_SIGN.otherwise is not None
    found = COMPLEX_SIGN.otherwise(CALL, (z,), (expected,))
    assert found is not None
    assert found[0].tolist() == [z[0], 8j]
    assert COMPLEX_SIGN.otherwise(CALL, (z.real,), (z.real,)) is None
    assert COMPLEX_SIGN.flushes

"""Other readings of the specification: its formulas, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.tolerance.formulas import SIGNS_BY_MODULUS, log_plus_one, logistic
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Value, single_op
from reference.ir.types import element_type

C64 = element_type("complex<f32>")
TINY = np.float32(2.0**-149)


@pytest.mark.parametrize(
    ("scale", "modulus", "verdict"),
    [(TINY, 500, Verdict.PASS), (TINY, 503, Verdict.PASS), (TINY, 505, Verdict.DIVERGENT),
     (np.float32(1), 500, Verdict.PASS), (np.float32(1), 500.01, Verdict.INACCURATE)],
)  # fmt: skip
def test_the_sign_of_a_complex_number_may_be_by_any_permitted_modulus_that_is_subnormal(
    scale: np.float32, modulus: float, verdict: Verdict
) -> None:
    """300 + 400i has the modulus 500; of so many smallest numbers 503 is 3 ulp from it."""
    of = (tensor(C64, 1),)
    made = single_op("sign", (Value("x", of[0]),), of, {})
    operand = np.array([(300 + 400j) * scale], np.complex64)
    actual = np.array([(300 + 400j) / modulus], np.complex64)
    expected = evaluate(made, [operand])
    found = judge(made, [operand], expected, [actual], CATALOG["sign"].tolerance)
    assert found.verdict is verdict


def test_logistic_by_steps_overflows_before_its_result() -> None:
    x = np.array([-90.0, 0.0, 90.0], np.float32)
    assert logistic(x).tolist() == [0.0, 0.5, 1.0]


def test_complex_logarithm_adds_one_in_the_type_first() -> None:
    """1e-10 is lost in 1 + 1e-10; of real numbers it is not."""
    small = np.array([1e-10], np.complex64)
    assert log_plus_one(small).tolist() == [0j]
    assert log_plus_one(small.real.copy())[0] == np.float32(1e-10)


def test_signs_by_other_moduli_differ_for_subnormal_moduli_only() -> None:
    subnormal = np.array([(300 + 400j) * TINY], np.complex64)
    normal = np.array([3 + 4j], np.complex64)
    moduli = {complex(formula(subnormal)[0]) for formula in SIGNS_BY_MODULUS}
    assert len(moduli) == len(SIGNS_BY_MODULUS) == 7
    assert {complex(formula(normal)[0]) for formula in SIGNS_BY_MODULUS} == {
        complex(np.complex64(0.6 + 0.8j))
    }

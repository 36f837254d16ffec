"""Other readings of the specification: its formulas, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
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

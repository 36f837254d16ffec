"""Accuracy that an operation states for itself: it is judged by that, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.result_accuracy import apply_result_accuracy
from conformance.verdict import Verdict
from generators.invalid.misses import program, tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.accuracy import HIGHEST, TOLERANCE, ResultAccuracy
from reference.ir.program import Value, single_op
from reference.ir.types import element_type
from reference.ops.xla.lowering import lower_program

F32 = element_type("f32")
OF = tensor(F32, 4)
X = np.array([-1, 0.25, 1, 3], np.float32)


@pytest.mark.parametrize(
    ("asked", "error", "verdict"),
    [
        (ResultAccuracy(TOLERANCE, ulps=4), 2 * 2.0**-23, Verdict.PASS),
        (ResultAccuracy(TOLERANCE, ulps=4), 16 * 2.0**-23, Verdict.INACCURATE),
        (ResultAccuracy(TOLERANCE, rtol=1e-3), 1e-3, Verdict.PASS),
        (ResultAccuracy(TOLERANCE, rtol=1e-3), 3e-3, Verdict.INACCURATE),
        (ResultAccuracy(TOLERANCE, atol=1.0), 0.04, Verdict.PASS),
        (ResultAccuracy(HIGHEST), 4 * 2.0**-23, Verdict.INACCURATE),  # its op's rule: 1 ulp
        (ResultAccuracy(HIGHEST), 0.0, Verdict.PASS),
    ],
)
@pytest.mark.parametrize("op", ["Exp", "Cosh"])
def test_stated_accuracy_is_the_budget(op, asked, error: float, verdict: Verdict) -> None:
    made = lower_program(program(op, {"x": OF}, (OF,), result_accuracy=asked))
    expected = evaluate(made, (X,))
    actual = [(expected[0].astype(np.float64) * (1 + error)).astype(np.float32)]
    assert judge(made, (X,), expected, actual, CATALOG[op].tolerance).verdict is verdict


@pytest.mark.parametrize("op", ["Exp", "Cosh", "Erf"])
def test_result_accuracy_is_written_and_read_back(op: str) -> None:
    for asked in (ResultAccuracy(HIGHEST), ResultAccuracy(TOLERANCE, 1e-5, 0.25, 3)):
        made = lower_program(program(op, {"x": OF}, (OF,), result_accuracy=asked))
        (operation, _) = parse_module(emit(made)).main.body.operations
        assert operation.attribute("result_accuracy") == asked


def test_stated_tolerance_bounds_the_error_and_leaves_a_rounding() -> None:
    of = tensor(element_type("f32"), 2)
    operation = single_op("tanh", (Value("x", of),), (of,)).subject
    rule = CATALOG["tanh"].tolerance
    assert apply_result_accuracy(operation, rule) is rule
    stated = ResultAccuracy(TOLERANCE, 0.5, 0.25, 3)
    asked = replace(operation, attributes=(("result_accuracy", stated),))
    found = apply_result_accuracy(asked, rule)
    assert found.bound is not None
    assert found.ulps is None
    (bound,) = found.bound(asked, (), (np.array([4.0, np.inf], np.float32),))
    assert bound is not None
    assert bound[0] == 0.5 + 0.25 * 4 + (3 + 1) * 2.0**-21
    assert np.isfinite(bound[1])

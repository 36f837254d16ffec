"""Rules: their table, budgets by type and hardware, stated accuracy, formulas, errors in ulps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.tolerance.formulas import log_plus_one, logistic
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.result_accuracy import apply_result_accuracy
from conformance.tolerance.rule import Rule, Ulps
from conformance.tolerance.table import RULES
from conformance.tolerance.ulp import (
    bound_distances,
    part_distances,
    ulp_distances,
)
from conformance.verdict import Verdict
from generators.invalid.misses import program, tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.accuracy import HIGHEST, TOLERANCE, ResultAccuracy
from reference.ir.program import Value, single_op
from reference.ir.types import element_type
from reference.ops.xla.lowering import lower_program
from suites.meta.support.small_programs import array


def test_every_op_has_a_rule_of_the_table() -> None:
    """The rule of a map is made from the rules of the ops in its computation."""
    others = {name for name, row in CATALOG.items() if row.tolerance not in RULES.values()}
    assert others == {"map", "Map"}


# --- Budgets --------------------------------------------------------------------------------------

ULPS = Ulps(f32=1, f64=2, half=3, narrow=4, complex_=5, gpu_f32=6)
RULE = Rule("sum", "", "", ulps=ULPS)


@pytest.mark.parametrize(
    ("of", "platform", "budget"),
    [
        ("f32", Hardware.CPU, 1),
        ("f32", Hardware.GPU, 6),
        ("f64", Hardware.GPU, 2),
        ("bf16", Hardware.CPU, 3),
        ("f8E4M3FN", Hardware.CPU, 4),
        ("complex<f32>", Hardware.GPU, 5),
        ("si32", Hardware.CPU, None),
    ],
)
def test_budget_by_type_and_hardware(of: str, platform: str, budget: float | None) -> None:
    assert RULE.budget(element_type(of), platform) == budget


# --- Accuracy that an operation states ------------------------------------------------------------

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


# --- Formulas that implementations may use --------------------------------------------------------

C64 = element_type("complex<f32>")
LEAST = np.float32(2.0**-149)


@pytest.mark.parametrize(
    ("scale", "modulus", "verdict"),
    [(LEAST, 500, Verdict.PASS), (LEAST, 503, Verdict.PASS), (LEAST, 505, Verdict.DIVERGENT),
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


def test_complex_logarithm_adds_one_in_the_type_first() -> None:
    """1e-10 is lost in 1 + 1e-10; of real numbers it is not."""
    small = np.array([1e-10], np.complex64)
    assert log_plus_one(small).tolist() == [0j]
    assert log_plus_one(small.real.copy())[0] == np.float32(1e-10)


# --- Errors in ulps and in units of a bound -------------------------------------------------------

LARGEST = float(np.finfo(np.float32).max)
TINY = float(np.finfo(np.float32).smallest_subnormal)
ULP = float(np.finfo(np.float32).eps)
INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("want", "got", "distance"),
    [
        (1.0, 1.0 + ULP, 1),
        (1.0, 1.0 - ULP, 2),
        (0.0, -0.0, 0),
        (-TINY, TINY, 2),
        (LARGEST, INF, 1),
        (-INF, INF, INF),
        (NAN, -NAN, 0),
        (NAN, 1.0, INF),
        (1.0, NAN, INF),
    ],
)
def test_numbers_in_between_are_counted(want: float, got: float, distance: float) -> None:
    (found,) = ulp_distances(array([want]), array([got]))
    assert found == distance or (distance == INF and found > 1e9)


def test_complex_error_is_in_ulps_of_the_larger_part() -> None:
    want, got = array([1 + 0j], "complex<f32>"), array([1 + ULP * 3j], "complex<f32>")
    assert ulp_distances(want, got).tolist() == [3]
    real, imag = part_distances(want, got)
    assert (real.tolist(), imag.tolist()) == ([0], [3])
    nan = array([complex(NAN, 0)], "complex<f32>")
    assert ulp_distances(nan, nan).tolist() == [0]
    assert ulp_distances(want, nan).tolist() == [INF]


@pytest.mark.parametrize(
    ("want", "got", "bound", "units"),
    [
        (1.0, 1.5, 0.25, 2),
        (1.0, 1.0, 0.0, 0),
        (1.0, 2.0, 0.0, INF),
        (1.0, NAN, 1.0, INF),
        (LARGEST, INF, LARGEST / 4, 0),
        (LARGEST / 2, INF, LARGEST / 4, INF),
        (INF, INF, 1.0, 0),
    ],
)
def test_errors_in_units_of_the_bound(want: float, got: float, bound: float, units: float) -> None:
    found = bound_distances(array([want]), array([got]), np.array([bound]))
    assert found.tolist() == [units]


def test_logistic_by_steps_overflows_before_its_result() -> None:
    x = np.array([-90.0, 0.0, 90.0], np.float32)
    assert logistic(x).tolist() == [0.0, 0.5, 1.0]

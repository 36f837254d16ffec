"""Trials of a campaign: which programs are judged, and by which rule."""

from __future__ import annotations

import pytest

from conformance.fuzzing.execution import run_trial
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.singles import PER_TRIAL, is_single
from conformance.fuzzing.trial import KNOWN_TO_CRASH, Trial
from conformance.gate.expectations import Expectation
from reference.ir.program import Program, TensorType


@pytest.mark.slow
def test_a_single_operation_is_judged_by_its_own_rule() -> None:
    """Within longer programs a root may be off by 1 ulp; in isolation it may not.

    The fault changes the last element of a result, where there is one.
    """
    fault, ops = "reference:off_by_one_last_element", frozenset({"sqrt"})
    passing = 0
    for number in filter(is_single, range(40 * PER_TRIAL)):
        trial = Trial(fault, 3, number, number + 1, ops)
        if "pass" in run_trial(trial).counts:
            assert _may_be_off(case_of(trial, number).program)
            passing += 1
    assert passing < 40


def _may_be_off(program: Program) -> bool:
    """Return whether a program has no element, or a quantized element, whose code may be off by
    one.
    """
    (of,) = program.main.result_types
    return isinstance(of, TensorType) and (0 in of.shape or "quant" in str(of))


def test_programs_with_known_crashes_are_skipped() -> None:
    counts: list[int] = []
    for where in ("stablehlo.", "no such operation"):
        ends = Expectation("ends", ("*",), "", verdicts=("crashed",), where=(where,))
        tried = run_trial(Trial("reference:right", 3, 0, 6, expectations=(ends,)))
        counts.append(tried.counts.get(KNOWN_TO_CRASH, 0))
    assert counts[0] > 0
    assert counts[1] == 0

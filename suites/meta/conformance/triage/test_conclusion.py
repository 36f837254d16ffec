"""Conclusions on programs whose results differ: which part of the backend's values decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from conformance.judging.judgement import passing_judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import OperationAudit
from conformance.triage.conclusion import Concluder, Conclusion
from conformance.verdict import Verdict
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.checking import SEEDED
from suites.meta.support.faults.changed_backend import (
    Change,
    Changed,
    compose_changes,
    result_of,
)
from suites.meta.support.small_programs import array

SHIFTED = parse_module(SEEDED)

INPUTS = (array(5, "ui32"), array([0.25, 0.5, 1.0, 2.0]))
RIGHT: Change = compose_changes()


def conclude(
    change: Change, actual: Sequence[Array] | None = None, program: Program = SHIFTED
) -> tuple[Conclusion, list[OperationAudit], int]:
    """Return the conclusion on a changed backend, audits with a wrong operation, and runs."""
    runs = 0

    def run(given: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        nonlocal runs
        runs += 1
        return (Changed(given, change).execute([one])[0] for one in sets)

    if actual is None:
        (actual,) = run(program, [INPUTS])
        runs = 0
    wrong: list[OperationAudit] = []
    permitted = PermittedResults(program, INPUTS)
    found = Concluder(run, "cpu").conclude(program, INPUTS, actual, permitted, wrong.append)
    return found, wrong, runs


def test_permitted_results_need_no_run() -> None:
    found, wrong, runs = conclude(RIGHT)
    assert (found.judgement.verdict, found.note, wrong, runs) == (Verdict.PASS, "", [], 0)


def test_a_result_of_another_shape_needs_no_run() -> None:
    short = [np.zeros(3, np.float32), np.zeros(4, np.float32)]
    found, wrong, runs = conclude(RIGHT, short)
    assert (found.judgement.verdict, found.judgement.kind) == (Verdict.DIVERGENT, "wrong type")
    assert (found.steps, wrong, runs) == (None, [], 0)


def test_unspecified_values_are_those_of_the_backend() -> None:
    found, wrong, _ = conclude(result_of("shift_right_logical", lambda _: np.uint32(7)))
    assert found.judgement.verdict is Verdict.PASS
    assert (found.adopted, wrong) == (1, [])
    assert found.note == (
        "1 result judged with the backend's own values, because these are unspecified"
    )


@pytest.mark.parametrize("shift", [0, 7])
def test_a_wrong_operation_is_reported_whatever_the_unspecified_value_is(shift: int) -> None:
    shifts = result_of("shift_right_logical", lambda _: np.uint32(shift))
    found, wrong, _ = conclude(compose_changes(shifts, result_of("sine", np.negative)))
    assert found.judgement.verdict is Verdict.DIVERGENT
    assert [one.operation.name for steps in wrong for one in steps.wrong] == ["sine"]
    assert found.steps is wrong[0]


def test_results_that_do_not_follow_from_the_values_of_the_run_do_not_pass() -> None:
    """The given results are of a shift to 7, the backend's own values of a shift to 0."""
    expected = [np.sin(INPUTS[1] + np.float32(7)), np.full(4, 0.3, np.float32)]
    found, _, runs = conclude(RIGHT, expected)
    assert found.judgement.verdict is Verdict.UNSPECIFIED
    assert (found.adopted, found.follows) == (0, False)
    assert runs == 2  # the audit, and its results as a set of intermediate values


ADOPTED = "2 results judged with the backend's own values, because these are unspecified"
SENSITIVE = (
    "every operation is right on its own operands; "
    "the program is sensitive to their rounding errors"
)


@pytest.mark.parametrize(
    ("adopted", "follows", "note"),
    [(0, False, ""), (2, False, ADOPTED), (2, True, ADOPTED), (0, True, SENSITIVE)],
)
def test_the_note_says_why_a_program_is_right(adopted: int, follows: bool, note: str) -> None:
    assert Conclusion(passing_judgement(4), None, adopted, follows).note == note

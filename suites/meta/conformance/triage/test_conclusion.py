"""Conclusions on programs whose results differ, by the values that the backend returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.checking.settings import CheckedFile, Settings
from conformance.checking.step_notes import UNPROVEN
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import OperationAudit
from conformance.triage.conclusion import Concluder, Conclusion
from conformance.verdict import Verdict
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.checking import SEEDED, check_text
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


SILU = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  %0 = stablehlo.negate %d : tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""

DRAWN = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
ROWS = {"x": DRAWN[:4], "w": DRAWN[4]}


def change_returned(name: str, factor: float, *, is_returned: bool = True) -> Change:
    """Return a change of an op's results in programs with several results, or in the others."""
    change = result_of(name, lambda x: x * np.float32(factor))

    def change_some(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
        is_several = len(program.main.result_types) > 1
        return change(program, operation, results) if is_several is is_returned else results

    return change_some


ULP = 1 + 2**-23

INEXACT = change_returned("exponential", ULP, is_returned=False)
"""Without a result that differs at all, operations are not judged."""


def test_operation_that_never_rounds_is_right_if_its_operand_was_computed_once_more(
    on: Callable[..., CheckedFile],
) -> None:
    found = on(SILU, ROWS, compose_changes(INEXACT, change_returned("negate", ULP)))
    assert (found.verdict.value, found.notes) == ("pass", ())
    found = on(SILU, ROWS, result_of("negate", lambda x: x * np.float32(ULP)))  # also in isolation
    assert found.notes[0].startswith("negate %0 (line 5) exceeds its own budget")
    (note,) = on(SILU, ROWS, compose_changes(INEXACT, change_returned("negate", 1.1))).notes
    assert note.startswith(f"{UNPROVEN}: negate %0 (line 5) exceeds its own budget")


def test_audit_with_other_results_names_no_operation(on: Callable[..., CheckedFile]) -> None:
    wrong = change_returned("exponential", 2, is_returned=False)
    found = on(SILU, ROWS, compose_changes(wrong, change_returned("negate", -1)))
    assert (found.verdict.value, found.operation) == ("divergent", "")
    assert f"{UNPROVEN}: first wrong: negate %0 (line 5): sign: " in found.message
    # where the results follow from the wrong values, but for rounding, it is named
    found = on(SILU, ROWS, compose_changes(INEXACT, result_of("negate", lambda x: -x)))
    assert found.operation == "negate %0 (line 5)"
    assert UNPROVEN not in found.message


UNFLUSHED = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %scale = stablehlo.constant dense<8388608.0> : tensor<2xf32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<2xf32>
  %a = stablehlo.abs %x : tensor<2xf32>
  %e = stablehlo.compare EQ, %x, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %i = stablehlo.compare EQ, %a, %inf : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %o = stablehlo.or %e, %i : tensor<2xi1>
  %m = stablehlo.multiply %x, %scale : tensor<2xf32>
  %r = stablehlo.select %o, %x, %m : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}"""


def test_operation_whose_returned_value_alone_is_wrong_is_not_at_fault(tmp_path: Path) -> None:
    """XLA flushes the compare that it returns, and not the one that it fuses into the `or`."""
    np.savez(tmp_path / "in.npz", x=np.array([1e-45, 3e-39], np.float32))
    found = check_text(tmp_path, UNFLUSHED, Settings("cpu", inputs=tmp_path / "in.npz"))
    assert (found.verdict.value, found.operation) == ("flushed", "multiply %m (line 10)")


COUNTED = """
func.func @main(%n: tensor<i32>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %one, %v = %x) : tensor<i32>, tensor<3xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.add %v, %y : tensor<3xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<3xf32>
  }
  return %0#1 : tensor<3xf32>
}"""


@pytest.mark.parametrize(("op", "operation"), [("add", "add %3 "), ("while", "while %0 ")])
def test_loop_that_is_off_by_a_rounding_is_inaccurate(
    on: Callable[..., CheckedFile], op: str, operation: str
) -> None:
    whole = np.array([1, 2, 4], np.float32)
    off = result_of(op, lambda x: x if x.dtype == np.int32 else x * np.float32(ULP))
    found = on(COUNTED, {"n": np.array(4, np.int32), "x": whole, "y": whole}, off)
    assert (found.verdict.value, found.kind) == ("inaccurate", "accuracy")
    assert found.operation.startswith(operation)

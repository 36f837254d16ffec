"""Operations that exceed their own budget in a passing program, and assertions of test programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conformance.checking import program, step_notes
from conformance.checking.assertions import judge_assertions
from conformance.checking.command import Options, check
from conformance.checking.file import check_file
from conformance.checking.settings import UNJUDGED, Settings
from conformance.frontends.assertions import Assertion
from conformance.gate.reading import load
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import audit
from conformance.verdict import Verdict
from reference.ir.program import Program, Value
from suites.meta.support.small_programs import array, tensor_of

CANCELLED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = stablehlo.exponential %x : tensor<4xf32>
  %a = stablehlo.multiply %y, %y : tensor<4xf32>
  %b = stablehlo.add %a, %x : tensor<4xf32>
  %d = stablehlo.subtract %b, %a : tensor<4xf32>
  %r = stablehlo.add %e, %d : tensor<4xf32>
  return %r : tensor<4xf32>
}"""
X, Y = np.array([0.1, 0.7, 1.3, -0.4]), np.array([301.7, 511.3, 777.7, 912.1])
OFF = "reference:off_by_100_ulp@exponential"
NOTE = "exponential %e (line 3) exceeds its own budget on its own operands"
KNOWN = """
[[known]]
id = "known-error"
op = "exponential"
element_types = ["f32"]
verdicts = ["inaccurate", "divergent"]
reason = "A table is too coarse."
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    path.write_text(CANCELLED)
    np.savez(inputs, x=X.astype(np.float32), y=Y.astype(np.float32))
    return str(path), inputs


def test_an_operation_that_exceeds_its_own_budget_gets_a_note(
    files: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, inputs = files
    assert check(Options((path,), OFF, inputs, 1)) == 0
    text = capsys.readouterr().out
    assert f"program.mlir: pass: note: {NOTE}" in text
    assert "(100 ulp, 1 permitted)" in text
    assert check(Options((path,), OFF, inputs, 1, as_json=True)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "pass"
    (note,) = told["notes"]
    assert note.startswith(NOTE)


@pytest.mark.parametrize("backend", ["reference", "reference:right", "cpu"])
def test_operations_within_their_budgets_get_none(files: tuple[str, Path], backend: str) -> None:
    path, inputs = files
    found = check_file(path, Settings(backend, inputs))
    assert (found.verdict, found.notes) == (Verdict.PASS, ())


def test_a_known_error_gets_none(files: tuple[str, Path], tmp_path: Path) -> None:
    path, inputs = files
    known = tmp_path / "known.toml"
    known.write_text(KNOWN)
    found = check_file(
        path, Settings(OFF, inputs, expectations=load(str(known), ("reference",), versions()))
    )
    assert (found.verdict, found.notes) == (Verdict.PASS, ())


def test_note_says_which_operations_were_not_judged(
    files: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, inputs = files
    with monkeypatch.context() as patch:
        patch.setattr(step_notes, "MOST_OPERATIONS", 4)
        (note,) = check_file(path, Settings(OFF, inputs)).notes
    assert note == f"{UNJUDGED}: there are 5, more than 4"

    def audit_for_ever(*given: object) -> object:
        while True:
            audit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(step_notes, "audit", audit_for_ever)
    monkeypatch.setattr(program, "LEAST_SECONDS", 0.2)
    (note,) = check_file(path, Settings(OFF, inputs)).notes
    assert note.startswith(f"{UNJUDGED}: it took longer than ")


def test_crash_while_writing_notes_keeps_the_verdict(
    files: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The backend ends the process when the results of all operations are asked for."""
    path, inputs = files
    options = Options((path,), "reference:abort_on_many_results", inputs, 1, as_json=True)
    assert check(options) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "pass"
    assert told["notes"] == [f"{UNJUDGED}: the process ended with SIGABRT"]


def test_results_that_depend_on_a_quotient_by_zero_are_called_unspecified(tmp_path: Path) -> None:
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    text = """
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %0 = stablehlo.divide %x, %y : tensor<3xi32>
  %1 = stablehlo.add %0, %x : tensor<3xi32>
  return %1, %x : tensor<3xi32>, tensor<3xi32>
}"""
    path.write_text(text)
    np.savez(inputs, x=np.array([1, -5, 7], np.int32), y=np.array([0, 0, 2], np.int32))
    told = "2 of 6 elements depend on unspecified values (integer division by zero)"
    assert check_file(str(path), Settings("cpu", inputs)).notes == (told,)
    path.write_text(text.replace("add %0, %x", "and %0, %y"))
    assert check_file(str(path), Settings("cpu", inputs)).notes == ()


NUMBERS = array([1.0, 2.0, 4.0])
PASS_ON = parse_module("""
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}""")
EXPONENTIALS = parse_module("""
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.exponential %a : tensor<3xf32>
  return %0, %b : tensor<3xf32>, tensor<3xf32>
}""")


def make_assertion(**given) -> Assertion:
    left, right = (Value(name, tensor_of(3)) for name in "ab")
    return Assertion("expect_close", left, right, **given)


def outcome(
    assertion: Assertion, got, want, program: Program = PASS_ON, given=(NUMBERS, NUMBERS), **how
):
    permitted = PermittedResults(program, given)
    return judge_assertions([assertion], permitted, [got, want], **{"is_reference": True, **how})


@pytest.mark.parametrize(
    ("ulps_of_backend", "is_reference", "passes"),
    [(0, True, True), (0, False, True), (1, False, True), (4000, True, True), (4000, False, False)],
)
def test_expected_values_that_a_backend_may_give_are_right(
    ulps_of_backend: int, is_reference: bool, passes: bool
) -> None:
    """The tolerance is less than an ulp of exp(4); the expected value is an ulp off."""
    right = np.exp(NUMBERS.astype(np.float64)).astype(np.float32)
    want = np.nextafter(right, np.float32(np.inf))
    got = (right - ulps_of_backend * np.spacing(right)).astype(np.float32)
    tight = make_assertion(tolerance=1e-9)
    found = outcome(tight, got, want, EXPONENTIALS, is_reference=is_reference)
    assert (found.verdict is Verdict.PASS) is passes


def test_quotient_by_zero_is_called_unspecified(tmp_path: Path) -> None:
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    path.write_text("""
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %r = stablehlo.divide %x, %y : tensor<3xi32>
  return %r : tensor<3xi32>
}""")
    np.savez(inputs, x=np.array([1, -5, 7], np.int32), y=np.array([0, 0, 2], np.int32))
    told = "2 of 3 elements are unspecified (integer division by zero): any value passes"
    assert check_file(str(path), Settings("cpu", inputs)).notes == (told,)
    np.savez(inputs, x=np.array([1, -5, 7], np.int32), y=np.array([1, 3, 2], np.int32))
    assert check_file(str(path), Settings("cpu", inputs)).notes == ()

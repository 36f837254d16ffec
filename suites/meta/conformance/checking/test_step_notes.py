"""Operations that exceed their own budget in a passing program: notes and their cost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.checking import program, step_notes
from conformance.checking.command import Options, check
from conformance.checking.file import check_file
from conformance.checking.settings import UNJUDGED, Settings
from conformance.frontends.modules import Unit, units_of
from conformance.gate.reading import load
from conformance.results.versions import versions
from conformance.triage.audit import audit
from conformance.verdict import Verdict

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


def test_a_program_that_fails_has_a_culprit_and_no_notes(files: tuple[str, Path]) -> None:
    path, inputs = files
    np.savez(inputs, x=X.astype(np.float32), y=np.ones(4, np.float32))
    found = check_file(path, Settings(OFF, inputs))
    assert found.verdict.fails
    assert found.operation.startswith("exponential")
    assert not found.notes


def test_results_that_are_the_same_are_not_looked_into(
    files: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, inputs = files
    np.savez(inputs, x=np.full(4, -np.inf, np.float32), y=Y.astype(np.float32))

    def fail_if_called(*_: object) -> None:
        raise AssertionError("operations were judged one by one")

    monkeypatch.setattr(step_notes, "audit", fail_if_called)
    assert check_file(path, Settings(OFF, inputs)).verdict is Verdict.PASS
    np.savez(inputs, x=X.astype(np.float32), y=Y.astype(np.float32))
    with pytest.raises(AssertionError):
        check_file(path, Settings(OFF, inputs))


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


def test_only_the_first_few_are_described(tmp_path: Path) -> None:
    lines = [f"  %e{n} = stablehlo.exponential %x : tensor<4xf32>\n" for n in range(5)]
    sums = ["%d", *(f"%s{n}" for n in range(5))]
    lines += [
        f"  {sums[n + 1]} = stablehlo.add {sums[n]}, %e{n} : tensor<4xf32>\n" for n in range(5)
    ]
    text = CANCELLED.replace("  %r =", "".join(lines) + "  %r =").replace("%e, %d", "%e, %s4")
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    path.write_text(text)
    np.savez(inputs, x=X.astype(np.float32), y=(30 * Y).astype(np.float32))
    notes = check_file(str(path), Settings(OFF, inputs)).notes
    assert len(notes) == step_notes.SHOWN + 1
    assert notes[-1] == "so do 3 more operations"


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


def test_values_that_are_results_are_not_compiled_again() -> None:
    """XLA takes a time that grows faster than the number of results."""
    text = CANCELLED.replace("return %r : ", "return %e, %a, %b, %d, %r : " + "tensor<4xf32>, " * 4)
    text = text.replace("-> tensor<4xf32> {", f"-> ({', '.join(['tensor<4xf32>'] * 5)}) {{")
    (unit,) = units_of(text)
    assert isinstance(unit, Unit)
    session = open_session("cpu")
    work = program.ProgramChecker(unit, session, (), 60.0)
    assert work.judge_inputs((X.astype(np.float32), Y.astype(np.float32))).verdict is Verdict.PASS
    assert not any("not judged" in note for note in work.notes())
    assert session.compilations == 1


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

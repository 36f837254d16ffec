"""Programs of the user's own are tried as they stand in their files."""

from __future__ import annotations

from pathlib import Path

from conformance.fuzzing.trial import Trial
from conformance.fuzzing.user_programs import failing_program, outcome_of_file, read_program
from conformance.verdict import Verdict

CALLING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_functions_that_are_called_stay(tmp_path: Path) -> None:
    """Compilers may be wrong about calls that are right once the calls are inlined."""
    file, trial = tmp_path / "program.mlir", Trial("reference", 0, 0, 1)
    file.write_text(CALLING)
    assert {len(failure.program.functions) for failure in read_program(trial, file, None)} == {2}
    assert outcome_of_file(trial, file, None).verdict is Verdict.PASS
    assert failing_program(trial, file, None) is None

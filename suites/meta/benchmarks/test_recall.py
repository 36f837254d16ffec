"""Published bugs among findings: the same operations, verdict and class."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.recall import found_at, is_one, operations
from conformance.check.saving import INPUTS
from conformance.fuzzing.keeping.bundle import FINDING
from suites.published_bugs import Bug

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %c : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
BUG = Bug("a-bug", "why", "", PROGRAM, (), kinds=("saturation",))
SHOWN = "add f32[4]; negate f32[4]"


def finding(folder: Path, *signatures: str) -> Path:
    first, *rest = signatures
    (folder / FINDING).write_text(json.dumps({"signature": first, "signatures": rest}))
    return folder


def test_constants_and_returns_do_not_compute() -> None:
    assert operations(PROGRAM) == {"add", "negate"}


@pytest.mark.parametrize(
    ("signature", "same"),
    [
        (f"divergent | saturation | cpu | {SHOWN}", True),
        (f"crashed | saturation | cpu | {SHOWN}", False),
        (f"divergent | off by one | cpu | {SHOWN}", False),
        ("divergent | saturation | cpu | add f32[4]", False),
        ("divergent | saturation | cpu | negate f32[4]; add f32[4]; add f32[2]", True),
    ],
)
def test_a_finding_is_a_bug_with_its_operations_verdict_and_class(
    signature: str, same: bool, tmp_path: Path
) -> None:
    assert is_one(BUG, {operations(PROGRAM)}, finding(tmp_path, signature)) == same


def test_any_of_a_finding_s_programs_may_be_the_bug_s(tmp_path: Path) -> None:
    other = "divergent | saturation | cpu | tanh f32[4]"
    folder = finding(tmp_path, other, f"divergent | saturation | cpu | {SHOWN}")
    assert is_one(BUG, {operations(PROGRAM)}, folder)


def test_any_minimal_form_and_any_class_of_a_bug_counts(tmp_path: Path) -> None:
    any_class = Bug("a-bug", "why", "", PROGRAM, ())
    folder = finding(tmp_path, "divergent | whatever | cpu | add f32[4]")
    assert is_one(any_class, {operations(PROGRAM), frozenset({"add"})}, folder)
    assert not is_one(any_class, {operations(PROGRAM)}, folder)


def test_a_finding_was_found_when_its_inputs_were_written(tmp_path: Path) -> None:
    (tmp_path / INPUTS).write_bytes(b"")
    os.utime(tmp_path / INPUTS, (5.0, 7.0))
    assert found_at(tmp_path) == 7

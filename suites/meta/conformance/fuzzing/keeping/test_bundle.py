"""The folder of a finding: its script tells the truth, and says it by its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping.bundle import regroup, write
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.shapes import count_elements
from conformance.verdict import Element, Verdict
from suites.meta.support.schemas import validate
from suites.meta.support.small_programs import array, op_program, tensor_of


def finding(of: str, expected: float, actual: float) -> Finding:
    """Return a finding about 1 + 2, which is 3."""
    program = op_program("add", [tensor_of(2, of=of), tensor_of(2, of=of)], tensor_of(2, of=of))
    inputs = (array([0, 1], of), array([0, 2], of))
    results = [(array([0, number], of),) for number in (expected, actual)]
    element = Element(0, (1,), str(expected), "", str(actual), "")
    expected, actual = results
    return Finding(
        Verdict.DIVERGENT, "wrong value", "message", culprit="add", elements=(element,),
        program=program, text=emit(program), inputs=inputs, expected=expected, actual=actual,
        backend="cpu",
    )  # fmt: skip


@pytest.mark.parametrize("of", ["f32", "si32", "bf16"])
def test_the_script_says_whether_the_bug_is_there(tmp_path: Path, of: str) -> None:
    there = write(tmp_path / "there", finding(of, 5, 3), {}, "")
    gone = write(tmp_path / "gone", finding(of, 3, 5), {}, "")
    running = [
        subprocess.Popen([sys.executable, path / "reproduce.py"], stdout=subprocess.PIPE, text=True)
        for path in (there, gone)
    ]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [1, 0], said
    assert "still there" in said[0]
    assert "gone" in said[1]


def test_elements_of_an_operation_within_are_none_of_the_results(tmp_path: Path) -> None:
    """The elements may have other shapes than the program's results; the folder is written all the
    same.
    """
    elements = tuple(Element(0, index, "1", "", "3", "") for index in ((7,), (0, 0), (1,)))
    own = write(tmp_path, replace(finding("f32", 5, 3), elements=elements), {}, "")
    assert "WRONG = [(0, [1]," in (own / "reproduce.py").read_text()


UNKNOWN = """
func.func @main(%x: tensor<1xf32>) -> tensor<?xf32> {
  %n = stablehlo.constant dense<2> : tensor<1xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0]
    : (tensor<1xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""

REFUSED = """
func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
  %1:2 = stablehlo.while(%i = %n, %y = %0) : tensor<i32>, tensor<3xf32>
  cond {
    %2 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.compare LT, %i, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %4 = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.add %i, %4 : tensor<i32>
    %6 = stablehlo.negate %y : tensor<3xf32>
    stablehlo.return %5, %6 : tensor<i32>, tensor<3xf32>
  }
  return %1#1 : tensor<3xf32>
}
"""
"""A valid program that XLA cannot compile (set-dimension-size-into-a-loop)."""


def test_an_error_that_a_backend_answers_with_is_the_bug(tmp_path: Path) -> None:
    program = parse_module(REFUSED)
    given = (array([1, 2, 3], "f32"), np.int32(3))
    there, gone = (
        replace(one, verdict=Verdict.CRASHED, kind="internal error", elements=())
        for one in (
            replace(finding("f32", 3, 5), program=program, text=emit(program), inputs=given),
            finding("f32", 3, 5),
        )
    )
    codes = [
        subprocess.run([sys.executable, write(tmp_path / name, one, {}, "") / "reproduce.py"],
                       check=False, capture_output=True).returncode
        for name, one in (("there", there), ("gone", gone))
    ]  # fmt: skip
    assert codes == [1, 0]


def test_all_is_written_and_the_program_can_be_checked(tmp_path: Path) -> None:
    own = write(tmp_path, finding("f32", 5, 3), {"jaxlib": "1.2"}, "hlo-conformance fuzz")
    with np.load(own / "inputs.npz") as archive:
        assert sorted(archive.files) == ["a0", "a1"]
    text = (own / "issue.md").read_text()
    validate("finding", json.loads((own / "finding.json").read_text()))
    assert "jaxlib 1.2" in text
    assert "stablehlo.add" in text
    assert "| 0 | [1] | 5" in text


def test_results_of_unknown_size_are_written_too(tmp_path: Path) -> None:
    program = parse_module(UNKNOWN)
    results = (array([0, 1], "f32"),)
    element = Element(0, (1,), "1", "", "0", "")
    found = replace(
        finding("f32", 5, 3), program=program, inputs=(array([1], "f32"),), expected=results,
        actual=results, elements=(element,),
    )  # fmt: skip
    assert count_elements(program) == 2
    own = write(tmp_path, found, {}, "")
    assert "RESULTS = [('f32', [None])]" in (own / "reproduce.py").read_text()


QUANTIZED = """
func.func @main(%x: TYPE) -> TYPE {
  %0 = stablehlo.negate %x : TYPE
  return %0 : TYPE
}""".replace("TYPE", "tensor<2x!quant.uniform<i8:f32, 0.5>>")


def test_quantized_tensors_are_written_as_their_codes(tmp_path: Path) -> None:
    program = parse_module(QUANTIZED)
    results = [(array([0, code], "si8"),) for code in (-2, 2)]
    found = replace(
        finding("f32", 5, 3), program=program, inputs=(array([0, 2], "si8"),),
        expected=results[0], actual=results[1],
    )  # fmt: skip
    script = (write(tmp_path, found, {}, "") / "reproduce.py").read_text()
    assert "ARGUMENTS = [('si8', [2])]" in script
    assert "RESULTS = [('si8', [2])]" in script


def test_later_programs_are_added_to_finding_folder(tmp_path: Path) -> None:
    own = write(tmp_path, finding("f32", 5, 3), {}, "")
    regroup(own, {"add f32": 2}, {"divergent | k | add f32 | add f32,f32>f32": 1}, 2)
    first = (own / "issue.md").read_text()
    signatures = {f"divergent | k | add {of} | add {of},{of}>{of}": 1 for of in ("f32", "bf16")}
    regroup(own, {"add f32": 2, "add bf16": 1}, signatures, 3)
    issue, told = (own / "issue.md").read_text(), json.loads((own / "finding.json").read_text())
    assert first.partition("## Where")[0] == issue.partition("## Where")[0] != ""
    assert issue.count("\n\n## Where it was found\n\n3 programs") == 1
    assert "Element types: bf16, f32." in issue
    assert "- `add bf16,bf16>bf16`" in issue
    assert told["element_types"] == ["bf16", "f32"]
    assert (told["programs"], told["culprits"]) == (3, {"add f32": 2, "add bf16": 1})
    validate("finding", told)
    regroup(tmp_path / "gone", {}, {}, 0)  # a folder that somebody moved is no error
    assert not (tmp_path / "gone").exists()

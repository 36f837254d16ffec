"""The folder of a finding: its script tells the truth, and says it by its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.base import Description
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping.bundle import issue, regroup, write
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.shapes import count_elements
from conformance.verdict import Element, Verdict
from reference.interpreter.evaluate import evaluate
from suites.meta.support.faults.plugin import compile_faulty_plugin, installed_plugin
from suites.meta.support.schemas import validate
from suites.meta.support.small_programs import array, op_program, tensor_of
from suites.meta.support.workers import CPU


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


@pytest.mark.slow
@pytest.mark.parametrize("of", ["f32", "si32", "bf16"])
def test_the_script_says_whether_the_bug_is_there(tmp_path: Path, of: str) -> None:
    there = write(tmp_path / "there", finding(of, 5, 3), CPU, "")
    gone = write(tmp_path / "gone", finding(of, 3, 5), CPU, "")
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
    own = write(tmp_path, replace(finding("f32", 5, 3), elements=elements), CPU, "")
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


@pytest.mark.slow
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
        subprocess.run([sys.executable, write(tmp_path / name, one, CPU, "") / "reproduce.py"],
                       check=False, capture_output=True).returncode
        for name, one in (("there", there), ("gone", gone))
    ]  # fmt: skip
    assert codes == [1, 0]


def test_all_is_written_and_the_program_can_be_checked(tmp_path: Path) -> None:
    own = write(tmp_path, finding("f32", 5, 3), CPU, "hlo-conformance fuzz")
    with np.load(own / "inputs.npz") as archive:
        assert sorted(archive.files) == ["a0", "a1"]
    text = (own / "issue.md").read_text()
    validate("finding", json.loads((own / "finding.json").read_text()))
    assert "jaxlib 1.2" in text
    assert "stablehlo.add" in text
    assert "| result | index | `%a0` | `%a1` | expected | actual |" in text
    assert "| 0 | [1] | 1.0 (0x3F800000) | 2.0 (0x40000000) | 5" in text


def test_issue_shows_operands_of_wrong_elements_and_inputs_that_are_not_zero() -> None:
    numbers = array([0] * 8 + [4, 0], "f32")
    program = op_program("tanh", [tensor_of(10, of="f32")], tensor_of(10, of="f32"))
    element = Element(0, (8,), "5", "0x05", "3", "0x03", inputs=(("operand", "4.0", "0x40800000"),))
    text = issue(
        replace(finding("f32", 5, 3), program=program, inputs=(numbers,), elements=(element,)), CPU
    )
    assert "- `%a0` = f32[10]: 4.0 at [8], 0 elsewhere\n" in text
    assert "| result | index | operand | expected | actual |" in text
    assert "| 0 | [8] | 4.0 (0x40800000) | 5 (0x05) | 3 (0x03) |" in text


def run_script(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Return exit code and output of a finding's script."""
    ran = subprocess.run(
        [sys.executable, folder / "reproduce.py", *words], check=False, stdout=subprocess.PIPE,
        text=True, env=os.environ | variables,
    )  # fmt: skip
    return ran.returncode, ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["WRONG", "ABORTS"])
def test_script_of_plugin_finding_needs_the_plugin(tmp_path: Path, fault: str) -> None:
    """The plugin moves the first result of tanh by 64 ulp, or aborts."""
    faulty, right = tmp_path / "libpjrt_faulty.so", str(installed_plugin())
    compile_faulty_plugin(faulty, **{fault: "tanh"})
    program = op_program("tanh", [tensor_of(2, of="f32")], tensor_of(2, of="f32"))
    expected = evaluate(program, [array([1, 2], "f32")])
    actual = expected[0].copy()
    actual.view("i4")[0] += 64
    found = replace(
        finding("f32", 5, 3), program=program, text=emit(program), inputs=(array([1, 2], "f32"),),
        expected=tuple(expected), actual=(actual,), elements=(Element(0, (0,), "", "", "", ""),),
        backend="plugin:faulty",
    )  # fmt: skip
    if fault == "ABORTS":
        found = replace(found, verdict=Verdict.CRASHED, kind="abnormal exit", elements=())
    backend = Description("plugin:faulty", "cpu", "cpu", (("library", "libpjrt.so sha256 01ab"),))
    own = write(tmp_path, found, backend, "")
    code, out = run_script(own)
    assert code == 2
    assert "the bug is one of plugin:faulty: give the plugin's library" in out
    code, out = run_script(own, PJRT_PLUGIN=str(faulty))
    assert code == 1, out
    code, out = run_script(own, right)
    assert code == 0, out
    assert "the bug was found with libpjrt.so sha256 01ab" in out
    text = (own / "issue.md").read_text()
    assert "library libpjrt.so sha256 01ab" in text
    assert "`python reproduce.py LIBRARY`" in text
    assert "--backend plugin:faulty=LIBRARY" in (own / "finding.json").read_text()


@pytest.mark.parametrize(
    ("name", "platform"), [("cpu", "cuda"), ("reference:floor_division", "reference")]
)
def test_script_does_not_conclude_on_another_backend(
    tmp_path: Path, name: str, platform: str
) -> None:
    found = replace(finding("f32", 3, 5), backend=name)
    own = write(tmp_path, found, replace(CPU, platform=platform), "")
    code, out = run_script(own)
    assert code == 2
    assert out.startswith(f"cannot tell: the bug is one of {name}: ")


def test_results_of_unknown_size_are_written_too(tmp_path: Path) -> None:
    program = parse_module(UNKNOWN)
    results = (array([0, 1], "f32"),)
    element = Element(0, (1,), "1", "", "0", "")
    found = replace(
        finding("f32", 5, 3), program=program, inputs=(array([1], "f32"),), expected=results,
        actual=results, elements=(element,),
    )  # fmt: skip
    assert count_elements(program) == 2
    own = write(tmp_path, found, CPU, "")
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
    script = (write(tmp_path, found, CPU, "") / "reproduce.py").read_text()
    assert "ARGUMENTS = [('si8', [2])]" in script
    assert "RESULTS = [('si8', [2])]" in script


def test_later_programs_are_added_to_finding_folder(tmp_path: Path) -> None:
    own = write(tmp_path, finding("f32", 5, 3), CPU, "")
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

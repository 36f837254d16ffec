"""The folder of a finding: its script, its replay, and folders that hold no finding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.errors import UsageError
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping import replay
from conformance.fuzzing.keeping.bundle import regroup, write
from conformance.fuzzing.keeping.journal import FILE_NAME
from conformance.fuzzing.keeping.summary import is_campaign, load
from conformance.gate.expectations import Expectation
from conformance.pipeline.outcome import Outcome
from conformance.results.store import FILE_NAME as RESULTS
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Element, Verdict
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


def run_script(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Return exit code and output of a finding's script."""
    ran = subprocess.run(
        [sys.executable, folder / "reproduce.py", *words], check=False, stdout=subprocess.PIPE,
        text=True, env=os.environ | variables,
    )  # fmt: skip
    return ran.returncode, ran.stdout


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


FAULTY = "reference:floor_division"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a finding about -7 / 2, which floor_division has."""
    program = op_program("divide", [tensor_of(2, of="si32")] * 2, tensor_of(2, of="si32"))
    inputs = (array([-7, 7], "si32"), array([2, 2], "si32"))
    results = [(array([number, 3], "si32"),) for number in (-3, -4)]
    expected, actual = results
    finding = Finding(
        Verdict.DIVERGENT, "wrong value", "message", culprit="divide", program=program,
        text=emit(program), inputs=inputs, expected=expected, actual=actual, backend=FAULTY,
    )  # fmt: skip
    return write(tmp_path, finding, CPU, "")


def test_replay_uses_backend_of_finding_by_default(call, folder: Path) -> None:
    code, out, _ = call("replay", str(folder))
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()[2:]] == [FAULTY]


def test_fixed_finding_exits_with_0(call, folder: Path) -> None:
    assert call("replay", str(folder), "--backend", "reference")[0] == 0


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((Verdict.PASS, Verdict.CRASHED, None), 1),
        ((Verdict.PASS, None), 3),
        ((Verdict.UNSUPPORTED, Verdict.UNSUPPORTED), 4),
        ((Verdict.UNSUPPORTED, Verdict.UNSPECIFIED), 0),
    ],
)
def test_exit_codes(verdicts: tuple[Verdict | None, ...], code: int) -> None:
    rows = [
        replay.Row("cpu", outcome=None if verdict is None else Outcome(verdict))
        for verdict in verdicts
    ]
    assert replay.exit_code(rows) == code


def test_crash_that_an_expectation_matches_is_known(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Expectation("many", ("abs",), "", verdicts=("crashed",), where=('stablehlo.abs"',))
    monkeypatch.setattr(replay, "load", lambda *_: (known,))
    program, many = op_program("abs", [tensor_of(201)], tensor_of(201)), (array([-1.0] * 201),)
    finding = Finding(
        Verdict.CRASHED, "abnormal exit", program=program, text=emit(program), inputs=many,
        expected=(array([1.0] * 201),), actual=(), backend="reference:abort_on_large",
    )  # fmt: skip
    _, out, _ = call("replay", str(write(tmp_path, finding, CPU, "")))
    assert "there: crashed (abnormal exit), known as many" in out


def test_folder_without_finding_is_one_line(call, tmp_path: Path, folder: Path) -> None:
    code, _, error = call("replay", str(tmp_path))
    assert (code, error.count("\n")) == (2, 1)
    assert "no program.mlir" in error
    (folder / "finding.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        replay.read_finding(folder)
    (folder / "finding.json").unlink()
    with pytest.raises(UsageError, match="give --backend"):
        replay.replay(replay.read_finding(folder), ())


def test_a_folder_with_a_journal_and_no_run_is_a_campaign(tmp_path: Path) -> None:
    assert not is_campaign(tmp_path)
    (tmp_path / FILE_NAME).touch()
    assert is_campaign(tmp_path)
    (tmp_path / RESULTS).touch()
    assert not is_campaign(tmp_path)


@pytest.mark.parametrize("name", ["", FILE_NAME])
def test_folder_without_a_campaign_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path} holds no campaign: it has no {FILE_NAME}"):
        load(tmp_path / name if name else tmp_path)

"""check --save and check --describe: files that another tool can continue from."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.checking.describing import UNKNOWN_SIZE, describe_file, snippet
from conformance.checking.settings import Settings
from conformance.cli import app, exit_code_of
from conformance.frontends.arguments import load
from conformance.frontends.modules import Unit, read_units
from suites.meta.support.checking import FAULTY, TEST_PROGRAM, check_text
from suites.meta.support.schemas import validate

LOW = "reference:low_precision"


def saved_files(tmp_path: Path, text: str | bytes, backend: str = LOW, **how: Any) -> list[Path]:
    check_text(tmp_path, text, Settings(backend, save=tmp_path / "kept", **how))
    folder = tmp_path / "kept"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_failing_program_is_saved_with_inputs_and_verdict(tmp_path: Path) -> None:
    (folder,) = saved_files(tmp_path, FAULTY)
    said = json.loads((folder / "verdict.json").read_text())
    validate("verdict", said)
    assert (folder / "program.mlir").read_text() == FAULTY
    assert said["verdict"] == "divergent"
    assert said["operation"].startswith("exponential %0 ")
    assert said["parameters"] == {"x": "tensor<4xf32>", "y": "tensor<4xf32>"}
    assert said["inputs"] == "drawn inputs, set 1 of 3"
    inputs, expected, actual = (
        load(folder / f"{name}.npz") for name in ("inputs", "expected", "actual")
    )
    assert list(inputs) == ["x", "y"]
    right = np.tanh(np.maximum(np.exp(-inputs["x"]), inputs["y"]))
    np.testing.assert_allclose(expected["result_0"], right, rtol=1e-6)
    assert (expected["result_0"] != actual["result_0"]).any()


def test_saved_program_fails_in_the_same_way(tmp_path: Path, capsys: Any) -> None:
    (folder,) = saved_files(tmp_path, FAULTY)
    said = json.loads((folder / "verdict.json").read_text())
    command, subcommand, program, *rest = shlex.split(said["again"])
    assert (command, subcommand) == ("hlo-conformance", "check")
    rest[rest.index("--inputs") + 1] = str(folder / "inputs.npz")
    code = exit_code_of(lambda: app(["check", str(folder / program), *rest], standalone_mode=False))
    assert code == 1
    out = capsys.readouterr().out
    assert said["message"].removeprefix(f"{said['class']}: ") in out  # the class comes first
    assert out.rstrip().endswith("given inputs")


def test_passing_or_unchecked_program_is_not_saved(tmp_path: Path) -> None:
    assert saved_files(tmp_path, FAULTY, "reference") == []
    assert saved_files(tmp_path, FAULTY.replace("tanh", "custom_call @none"), LOW) == []


@pytest.mark.usefixtures("capfd")
def test_inputs_are_saved_if_the_backend_crashes(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text("""
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.sqrt %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}""")
    archive = tmp_path / "in.npz"
    np.savez(archive, x=np.array([1, np.nan, 2], np.float32))
    given = ["--backend", "reference:abort_on_nan", "--inputs", archive, "--save", tmp_path / "k"]
    code = exit_code_of(lambda: app(["check", str(path), *map(str, given)], standalone_mode=False))
    assert code == 1
    (folder,) = (tmp_path / "k").iterdir()
    said = json.loads((folder / "verdict.json").read_text())
    validate("verdict", said)
    assert said["verdict"] == "no answer"
    assert np.isnan(load(folder / "inputs.npz")["x"][1])


def test_names_of_folders_are_safe_and_differ(tmp_path: Path) -> None:
    names: set[str] = set()
    for index, name in enumerate(("a b/../é*", "x" * 400, "a b/../é*")):
        text = FAULTY.replace("@main", f'@"{name}"')
        (tmp_path / str(index)).mkdir()
        (folder,) = saved_files(tmp_path / str(index), text)
        assert folder.name.isascii()
        assert len(folder.name) < 200
        names.add(folder.name)
    assert len(names) == 3


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(FAULTY)
    given = ["check", str(path), "--save", str(path / "kept")]
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"cannot write to {path / 'kept'}: Not a directory" in error


def describe_text(tmp_path: Path, text: str | bytes, capsys: Any, *how: str) -> tuple[int, str]:
    path = tmp_path / "program.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = exit_code_of(
        lambda: app(["check", str(path), "--describe", *how], standalone_mode=False)
    )
    return code, capsys.readouterr().out


def test_parameters_and_results_are_printed(tmp_path: Path, capsys: Any) -> None:
    code, out = describe_text(tmp_path, FAULTY, capsys)
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0
    for line in ("x: tensor<4xf32>", "y: tensor<4xf32>", "%3: tensor<4xf32>"):
        assert line in lines
    assert '"y": np.zeros((4,), np.float32),' in lines


TYPES = """
func.func @main(%file: tensor<3xbf16>, %i: tensor<2xi4>, %c: tensor<complex<f32>>,
                %p: tensor<2xi1>, %s: tensor<0xf64>) -> (tensor<3xbf16>, tensor<2xi4>) {
  %0 = stablehlo.tanh %file : tensor<3xbf16>
  return %0, %i : tensor<3xbf16>, tensor<2xi4>
}"""


def test_each_part_of_a_file_is_described(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(TYPES)
    (entry,) = describe_file(str(path))
    assert (entry["file"], entry["program"]) == (str(path), "main")
    assert [(one["called"], one["type"]) for one in entry["parameters"]] == [
        ("file", "tensor<3xbf16>"), ("i", "tensor<2xi4>"), ("c", "tensor<complex<f32>>"),
        ("p", "tensor<2xi1>"), ("s", "tensor<0xf64>"),
    ]  # fmt: skip
    assert entry["parameters"][0]["name"] == "arr_0"  # np.savez has a parameter named file
    assert [one["called"] for one in entry["results"]] == ["0", "i"]


def test_test_program_is_saved_with_executed_program(tmp_path: Path) -> None:
    (folder,) = saved_files(tmp_path, TEST_PROGRAM.format("expect_eq", "0.7"), "reference")
    assert "check.expect_eq" in (folder / "program.mlir").read_text()
    assert "check.expect_eq" not in (folder / "executed.mlir").read_text()
    expected = load(folder / "expected.npz")
    assert [array.tolist() for array in expected.values()][1][2] == np.float32(0.7)


DYNAMIC = """
func.func @other(%x: tensor<?x2xf8E5M2>, %n: tensor<i1>) -> tensor<i1> {
  return %n : tensor<i1>
}"""


def test_snippet_states_sizes_and_bits(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(DYNAMIC)
    (unit,) = read_units(path)
    assert isinstance(unit, Unit)
    dynamic = f"tensor<?x2xf8E5M2>: {UNKNOWN_SIZE} may be any size"
    assert snippet(unit).splitlines()[2:-1] == [
        f'    "x": np.zeros(({UNKNOWN_SIZE}, 2), np.uint8),  # bits of f8E5M2; {dynamic}',
        '    "n": np.zeros((), np.bool_),',
    ]

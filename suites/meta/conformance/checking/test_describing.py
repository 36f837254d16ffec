"""`check --describe`: parameters and results of programs, and a snippet that writes an archive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from conformance.checking.describing import UNKNOWN_SIZE, describe_file, snippet
from conformance.checking.file import check_file
from conformance.checking.settings import Settings
from conformance.cli import app, exit_code_of
from conformance.frontends.modules import Unit, read_units
from conformance.verdict import Verdict
from suites.meta.support.checking import FAULTY, TEST_PROGRAM

TYPES = """
func.func @main(%file: tensor<3xbf16>, %i: tensor<2xi4>, %c: tensor<complex<f32>>,
                %p: tensor<2xi1>, %s: tensor<0xf64>) -> (tensor<3xbf16>, tensor<2xi4>) {
  %0 = stablehlo.tanh %file : tensor<3xbf16>
  return %0, %i : tensor<3xbf16>, tensor<2xi4>
}"""


def ignore_second_argument(weights: Any, dropped: Any, bias: Any) -> Any:
    del dropped
    return weights @ weights + bias


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


@pytest.mark.parametrize("name", ["types", "export"])
def test_snippet_writes_the_programs_inputs(name: str, tmp_path: Path, capsys: Any) -> None:
    text: str | bytes = TYPES
    if name == "export":
        made: Any = export.export(jax.jit(ignore_second_argument))
        shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((2, 2), (7,), (2,))]
        text = made(*shapes).mlir_module_serialized
    _, out = describe_text(tmp_path, text, capsys, "--format", "json")
    entry = json.loads(out)
    if name == "export":
        assert [one["name"] for one in entry["parameters"]] == ["weights", "bias"]
    subprocess.run([sys.executable, "-c", entry["snippet"]], check=True, cwd=tmp_path)
    path, archive = tmp_path / "program.mlir", tmp_path / "inputs.npz"
    found = check_file(str(path), Settings("reference", archive))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("hello", 2, "line 1, column 1"),
        ("func.func @main() {\n  foo.bar\n  return\n}", 4, "foo.bar is not read"),
        (TEST_PROGRAM.format("expect_eq", "0.2"), 0, "takes no inputs"),
    ],
)
def test_program_without_parameters_says_so(
    text: str, code: int, says: str, tmp_path: Path, capsys: Any
) -> None:
    got, out = describe_text(tmp_path, text, capsys)
    assert got == code
    assert says in out


DYNAMIC = """
func.func @other(%x: tensor<?x2xf8E5M2>, %n: tensor<i1>) -> tensor<i1> {
  return %n : tensor<i1>
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


def test_what_is_no_program_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text("func.func @main() {\n  foo.bar\n  return\n}")
    (entry,) = describe_file(str(path))
    assert set(entry) == {"file", "reason", "invalid"}
    assert not entry["invalid"]
    assert "foo.bar" in entry["reason"]

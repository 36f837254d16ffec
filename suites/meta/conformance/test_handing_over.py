"""Every command reads the files of any command.

`check --save`, `reduce`, `fuzz` and the snippet of `check --describe` write programs and inputs;
`check`, `reduce`, `replay` and `fuzz --seeds` read them.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.checking.describing import describe_file
from conformance.checking.file import check_file
from conformance.checking.settings import Settings
from conformance.cli import app, exit_code_of
from conformance.errors import UsageError
from conformance.fuzzing import user_programs
from conformance.fuzzing.crashes import CrashHandler
from conformance.fuzzing.keeping import bundle
from conformance.fuzzing.keeping import replay as finding_replay
from conformance.fuzzing.minimisation import minimise_failure
from conformance.fuzzing.trial import Trial
from conformance.verdict import Verdict
from suites.meta.support.workers import CPU

WRONG = "reference:transposed_operands@subtract"
TRIAL = Trial(WRONG, 0, 0, 1)

NUMBERED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.cosine %x : tensor<4xf32>
  %1 = stablehlo.add %0, %y : tensor<4xf32>
  %2 = stablehlo.subtract %1, %y : tensor<4xf32>
  %3 = stablehlo.sine %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}"""
"""Once it is minimised, a value without a name is a parameter."""

OF_CLIENTS = """
func.func @main(%x: tensor<2xf32>, %file: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.subtract %x, %file : tensor<2xf32>
  %1 = chlo.broadcast_add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""

TUPLE = """
func.func @main(%x: tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32> {
  %0 = stablehlo.get_tuple_element %x[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %1 = stablehlo.get_tuple_element %x[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<2xf32>
  %3 = stablehlo.add %2, %0 : tensor<2xf32>
  return %3 : tensor<2xf32>
}"""

DYNAMIC = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.subtract %x, %y : tensor<?xf32>
  %1 = stablehlo.add %0, %x : tensor<?xf32>
  return %1 : tensor<?xf32>
}"""

ASSERTING = """
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[4.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.subtract %x, %y : tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[-3.0, 0.0]> : tensor<2xf32>
  return
}"""

PROCESSES = """
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.subtract %x, %y : tensor<2xf32>
    %1 = "stablehlo.collective_permute"(%0) {
      source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
    } : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}"""

SEVERAL = """
func.func @first(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @inner(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @second(%u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.subtract %u, %v : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @inner(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.subtract %a, %b : tensor<2xf32>
  %1 = stablehlo.add %0, %a : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""

PROGRAMS = {
    "numbered": NUMBERED, "of clients": OF_CLIENTS, "tuple": TUPLE,
    "dynamic": DYNAMIC, "asserting": ASSERTING, "processes": PROCESSES,
    "several": SEVERAL,
}  # fmt: skip


def saved_folders(tmp_path: Path, text: str) -> list[Path]:
    """Return the folders that `check --save` writes for a program."""
    file = tmp_path / "given.mlir"
    file.write_text(text)
    assert check_file(str(file), Settings(WRONG, save=tmp_path / "saved")).verdict.fails
    return sorted((tmp_path / "saved").iterdir())


def reduced_folders(tmp_path: Path, text: str) -> list[Path]:
    """Return the folder that `reduce` writes for a program."""
    file = tmp_path / "given.mlir"
    file.write_text(text)
    failure = user_programs.failing_program(TRIAL, file, None)
    assert failure is not None
    return [bundle.write(tmp_path / "reduced", minimise_failure(TRIAL, failure, 20.0), CPU, "")]


def crash_folders(tmp_path: Path, text: str) -> list[Path]:
    """Return the folder of a finding whose program crashes, as this process writes it."""
    file = tmp_path / "given.mlir"
    file.write_text(text)
    failure = user_programs.failing_program(TRIAL, file, None)
    assert failure is not None
    finding = CrashHandler(None, 1.0).unminimised_finding(failure, WRONG)  # type: ignore[arg-type]
    return [bundle.write(tmp_path / "lost", finding, CPU, "")]


def inputs_in(folder: Path) -> Path | None:
    return folder / "inputs.npz" if (folder / "inputs.npz").is_file() else None


def check(folder: Path) -> None:
    found = check_file(str(folder / "program.mlir"), Settings(WRONG, inputs_in(folder)))
    assert found.verdict.fails, found


def reduce(folder: Path) -> None:
    program = folder / "program.mlir"
    if "num_replicas = 2" in program.read_text():
        with pytest.raises(UsageError, match="2 processes execute it"):
            user_programs.failing_program(TRIAL, program, inputs_in(folder))
        return
    failure = user_programs.failing_program(TRIAL, program, inputs_in(folder))
    assert failure is not None
    assert minimise_failure(TRIAL, failure, 20.0).verdict is failure.outcome.verdict


def replay(folder: Path) -> None:
    kept = finding_replay.read_finding(folder)
    assert kept.backend == WRONG
    outcome = user_programs.outcome_of_file(TRIAL, folder / "program.mlir", inputs_in(folder))
    assert outcome.verdict.value == kept.verdict


READERS = {"check": check, "reduce": reduce, "replay": replay}
WRITERS = {
    "check --save": saved_folders,
    "reduce": reduced_folders,
    "a lost process": crash_folders,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_failing_program_written_by_any_command_is_read_by_all(
    program: str, writer: str, reader: str, tmp_path: Path
) -> None:
    if program in ("processes", "several") and writer != "check --save":
        with pytest.raises(UsageError):
            WRITERS[writer](tmp_path, PROGRAMS[program])
        return
    for folder in WRITERS[writer](tmp_path, PROGRAMS[program]):
        READERS[reader](folder)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "asserting"])
def test_the_snippet_of_describe_writes_inputs_that_are_read(program: str, tmp_path: Path) -> None:
    file = tmp_path / "given.mlir"
    file.write_text(PROGRAMS[program])
    for entry in describe_file(str(file)):
        subprocess.run([sys.executable, "-c", entry["snippet"]], cwd=tmp_path, check=True)
        found = check_file(str(file), Settings("reference", tmp_path / "inputs.npz"))
        assert found.verdict is Verdict.PASS, found
        if program == "several":
            assert "1 of 2 programs not checked" in found.message
            continue
        readers: list[Callable[[Trial, Path, Path], object]] = [user_programs.outcome_of_file]
        readers += [] if program == "processes" else [user_programs.failing_program]
        for reader in readers:
            reader(TRIAL, file, tmp_path / "inputs.npz")


def test_command_suggested_by_check_minimises_the_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = saved_folders(tmp_path, NUMBERED)
    given = ["check", str(folder / "program.mlir"), "--inputs", str(folder / "inputs.npz")]
    code = exit_code_of(lambda: app([*given, "--backend", WRONG], standalone_mode=False))
    said = capsys.readouterr().err.rpartition("to minimise the failure: ")[2]
    name, command, *rest = shlex.split(said)
    assert (code, name, command) == (1, "hlo-conformance", "reduce")
    out = ["--out", str(tmp_path / "reduced")]
    assert exit_code_of(lambda: app([command, *rest, *out], standalone_mode=False)) == 1
    assert "1 operation: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("known", "code", "said"),
    [
        ("none", 1, "divergent (operands swapped): new: "),
        ("[[known]]\nid = 'swapped'\nop = 'subtract'\nreason = 'Swapped.'\n", 0, "by swapped ("),
    ],
)
def test_saved_failure_is_explained_by_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], known: str, code: int, said: str
) -> None:
    (folder,) = saved_folders(tmp_path, NUMBERED)
    entries = tmp_path / "known.toml"
    entries.write_text(known)
    given = "none" if known == "none" else str(entries)
    line = ["expectations", "why", str(folder), "--expectations", given]
    assert exit_code_of(lambda: app(line, standalone_mode=False)) == code
    assert said in capsys.readouterr().out
    with pytest.raises(UsageError, match=f"give a folder in it, such as {folder}"):
        finding_replay.read_finding(folder.parent)

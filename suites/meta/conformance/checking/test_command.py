"""The command check: whole programs on XLA, test programs, faulty operations, inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
from rich.console import Console

from conformance.backends import session
from conformance.backends.pjrt.backend import PjrtBackend
from conformance.checking.progress import FilesBar
from conformance.checking.settings import Settings
from conformance.outputs import checked as outputs
from conformance.stablehlo.emit import emit
from conformance.verdict import Verdict
from reference.ir.program import Operation, Program
from suites.meta.support.checking import ALONE, FAULTY, TEST_PROGRAM, check_text

# --- Whole programs from JAX ---------------------------------------------------------------------


def _map_operations(program: Program, change: Callable[[Operation], Operation]) -> Program:
    from dataclasses import replace

    def region(of: Any) -> Any:
        changed = (change(replace(o, regions=tuple(map(region, o.regions)))) for o in of.operations)
        return replace(of, operations=tuple(changed))

    return Program(tuple(replace(f, body=region(f.body)) for f in program.functions))


def test_the_first_wrong_operation_is_named(tmp_path: Path) -> None:
    found = check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    assert found.verdict.fails
    assert found.operation == "exponential %0 (@inner, line 3)"
    assert "first wrong: exponential" in found.message


LOOP = """
func.func @main(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %c = %x) : tensor<i32>, tensor<f32>
  cond {
    %0 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %2 = stablehlo.case %k : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}"""
BRANCHES = """    %2 = "stablehlo.case"(%k) ({
      %a = stablehlo.negate %c : tensor<f32>
      stablehlo.return %a : tensor<f32>
    }, {
      %a = stablehlo.multiply %c, %w : tensor<f32>
      %b = stablehlo.logistic %a : tensor<f32>
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>"""


def test_operations_are_located_within_loops_and_branches(tmp_path: Path) -> None:
    text = LOOP.replace("    %2 = stablehlo.case %k : (tensor<i32>) -> tensor<f32>", BRANCHES)
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    assert check_text(tmp_path, text, Settings("cpu")).verdict is Verdict.PASS
    found = check_text(tmp_path, text, Settings("reference:low_precision"))
    assert found.verdict.fails
    assert found.operation == "logistic %b (line 16) in case %2 (line 11) in while %r (line 6)"


def test_fault_visible_only_in_prefix_is_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend that is wrong only where the results of `negate` are not asked for."""

    class Shy(PjrtBackend):
        def compile(self, text: str, program: Program):
            returned = program.main.body.operations[-1].operands
            negated = [o.results[0] for o in program.walk() if o.name == "negate"]
            if any(value in returned for value in negated):
                return super().compile(text, program)
            wrong = _map_operations(program, _positive)
            return super().compile(emit(wrong), wrong)

    monkeypatch.setattr(session, "cached_backend", lambda _: Shy("cpu", "cpu"))
    found = check_text(tmp_path, FAULTY, Settings("shy"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation == "exponential %0 (@inner, line 3)"


def _positive(operation: Operation) -> Operation:
    if operation.name != "negate":
        return operation
    return Operation("abs", operation.operands, operation.results)


def test_a_program_that_breaks_a_constraint(tmp_path: Path) -> None:
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  %1 = "stablehlo.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    broken = text.replace("e5m10", "e5m0").replace("%1 = ", "%1 = ", 1)
    assert check_text(tmp_path, broken).verdict is Verdict.PASS
    short = "func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> {\n  return %x : tensor<4xf32>\n}"
    found = check_text(tmp_path, short)
    assert found.is_invalid
    assert found.message.startswith("line 2, column 3: ")


# --- Inputs --------------------------------------------------------------------------------------

MIXED = """
func.func @main(%left: tensor<2xbf16>, %right: tensor<2xi4>) -> tensor<2xbf16> {
  %0 = stablehlo.convert %right : (tensor<2xi4>) -> tensor<2xbf16>
  %1 = stablehlo.multiply %left, %0 : tensor<2xbf16>
  return %1 : tensor<2xbf16>
}"""


@pytest.mark.parametrize(
    "arrays",
    [
        {"left": np.array([0x3F80, 0x4000], np.uint16), "right": np.array([15, 3], np.uint8)},
        {"arr_0": np.array([1, 2], jnp.bfloat16), "arr_1": np.array([-1, 3], jnp.int4)},
    ],
)
def test_inputs_are_read_by_name_or_order_as_bits_or_ml_dtypes(
    arrays: dict[str, Any], tmp_path: Path
) -> None:
    archive = tmp_path / "in.npz"
    np.savez(archive, **arrays)
    settings = Settings("reference:one_wrong_element", archive)
    found = check_text(tmp_path, MIXED, settings)
    assert found.verdict.fails
    assert {element.expected for element in found.elements} <= {"-1.0", "3.0"}
    assert check_text(tmp_path, MIXED, Settings("cpu", archive)).verdict is Verdict.PASS


# --- The command ---------------------------------------------------------------------------------


def test_many_files_in_order_and_a_crash_costs_one(call, tmp_path: Path) -> None:
    texts = {
        "right": TEST_PROGRAM.format("expect_eq", "0.2"),
        "wrong": TEST_PROGRAM.format("expect_eq", "0.7"),
        "none": "hello",
        "crash": MIXED,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    archive = tmp_path / "in.npz"
    np.savez(archive, left=np.array([0x7FC0, 0], np.uint16), right=np.zeros(2, np.uint8))
    names = ["right", "wrong", "none", "right", "crash", "right", "wrong", "right", "right"]
    given = ("--backend", "reference:abort_on_nan", "--inputs", archive, "--jobs", 1)
    files = [tmp_path / name for name in names]
    code, out, err = call("check", *files, *given, "--format", "json")
    objects = [json.loads(line) for line in out.splitlines()]
    assert [one["file"] for one in objects] == list(map(str, files))
    verdicts = {"right": "pass", "wrong": "divergent", "none": "rejected", "crash": "crashed"}
    assert [one["verdict"] for one in objects] == [verdicts[name] for name in names]
    assert objects[4]["class"] == "abnormal exit"
    fields = msgspec.structs.fields(outputs.Checked)
    keys = {field.encode_name for field in fields}
    assert all(one.keys() == keys for one in objects)
    assert code == 1
    assert "9 files: pass 5, divergent 2, rejected 1, crashed 1" in err


def test_known_crash_of_users_program_is_known(call, tmp_path: Path) -> None:
    (tmp_path / "crash.mlir").write_text(MIXED)
    (tmp_path / "known.toml").write_text(
        '[[known]]\nid = "abort-on-nan"\nop = "multiply"\nverdicts = ["crashed"]\n'
        'kinds = ["abnormal exit"]\nwhere = ["stablehlo.multiply*bf16"]\nreason = "It aborts."\n'
    )
    archive = tmp_path / "in.npz"
    np.savez(archive, left=np.array([0x7FC0, 0], np.uint16), right=np.zeros(2, np.uint8))
    given = ("--backend", "reference:abort_on_nan", "--inputs", archive, "--jobs", 1)
    code, out, _ = call("check", tmp_path / "crash.mlir", *given)
    assert code == 1
    assert "crashed (abnormal exit)" in out
    known = ("--expectations", tmp_path / "known.toml")
    code, out, _ = call("check", tmp_path / "crash.mlir", *given, *known)
    assert code == 0
    assert "known crashed (abnormal exit)" in out
    assert "a known divergence, abort-on-nan: It aborts." in out


@pytest.mark.slow
def test_a_hang_ends_in_time(call, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(FAULTY)
    given = ("--backend", "reference:hang", "--timeout", 5, "--jobs", 1)
    code, out, _ = call("check", path, *given)
    slow = "the backend had been executing for "
    assert out.startswith(f"{path}: timed_out (no answer): no answer within 5 s: {slow}")
    assert out.endswith(" s, input set 1 of 3; the time needed is unknown: try --timeout 10\n")
    assert code == 1


@pytest.mark.parametrize(
    ("text", "backend", "code", "verdict"),
    [
        (FAULTY, "reference", 0, "pass"),
        ("hello", "reference", 2, "rejected (invalid program): line 1, column 1"),
        (
            ALONE.format("stablehlo.custom_call @f(%x)"),
            "reference",
            4,
            "not_judged (not evaluated)",
        ),
    ],
)
@pytest.mark.usefixtures("check_in_process")
def test_exit_codes(call, text: str, backend: str, code: int, verdict: str, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    got, out, err = call("check", path, "--backend", backend)
    assert got == code
    assert out.startswith(f"{path}: {verdict}")
    assert ("could not judge 1 file" in err) is verdict.startswith("not_judged")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("nowhere.mlir",), 2, "nowhere.mlir: no such file"),
        ((".",), 2, ".: is a folder"),
        ((__file__, "--backend", "cqu"), 2, "did you mean cpu?"),
        ((__file__, "--backend", "reference:abrot"), 2, "did you mean abort"),
        ((__file__, "--inputs", "nowhere.npz"), 2, "nowhere.npz: No such file"),
        ((__file__, "--inputs", __file__), 2, "test_command.py"),
        ((__file__, "--format", "xml"), 2, "xml"),
    ],
)
def test_invalid_arguments_are_one_line(
    call, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    got, out, err = call("check", *arguments)
    assert (got, out) == (code, "")
    assert reason in err
    assert err.count("\n") == 1


def test_unknown_sizes_are_drawn(tmp_path: Path) -> None:
    text = """
func.func @main(%n: tensor<i64>, %x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.add %x, %y : tensor<?x2xf32>
  %1 = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
  %2 = stablehlo.constant dense<2> : tensor<1xi64>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %4 = stablehlo.dynamic_reshape %0, %3 : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  return %4 : tensor<?x2xf32>
}"""
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    found = check_text(tmp_path, text, Settings("cpu"))
    assert (found.verdict, found.kind) == (Verdict.UNSUPPORTED, "not implemented by the backend")
    wrong = text.replace("dense<2>", "dense<7>")
    assert check_text(tmp_path, wrong).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("terminal", "variables", "shown"),
    [(True, {}, ["3/5", "1 failed"]), (False, {}, []), (True, {"CI": "true"}, [])],
)
def test_progress_is_shown_on_terminals_of_people(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, variables: dict[str, str], shown: list[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = StringIO()
    with FilesBar(Console(file=out, force_terminal=terminal, width=120), 5) as bar:
        for failed in (0, 1, 1):
            bar.advance(failed)
    assert all(part in out.getvalue() for part in shown)
    assert bool(out.getvalue().strip()) == bool(shown)

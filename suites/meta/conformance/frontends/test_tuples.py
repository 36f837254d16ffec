"""Tuples and tokens in programs to check: as parameters, as results, of calls and custom calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.checking.saving import write_arrays
from conformance.checking.settings import Settings
from conformance.frontends.modules import NOTHING_RETURNED, Unit, read_units
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import diagnose
from conformance.verdict import Verdict
from reference.ir.program import TensorType
from suites.meta.support.checking import check_text

LOW = Settings("reference:low_precision")
PAIR = "tuple<tensor<4xf32>, tensor<4xf32>>"

PROGRAMS = {
    "results": f"""
func.func @main(%x: tensor<4xf32>) -> {PAIR} {{
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tuple %x, %0 : {PAIR}
  return %1 : {PAIR}
}}""",
    "parameters": f"""
func.func @main(%p: {PAIR}, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.get_tuple_element %p[1] : ({PAIR}) -> tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  %2 = stablehlo.maximum %1, %y : tensor<4xf32>
  return %2 : tensor<4xf32>
}}""",
    "nested": f"""
func.func @main(%x: tensor<4xf32>) -> tuple<{PAIR}, tuple<!stablehlo.token>> {{
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tuple %x, %0 : {PAIR}
  %2 = stablehlo.after_all : !stablehlo.token
  %3 = stablehlo.tuple %2 : tuple<!stablehlo.token>
  %4 = stablehlo.tuple %1, %3 : tuple<{PAIR}, tuple<!stablehlo.token>>
  return %4 : tuple<{PAIR}, tuple<!stablehlo.token>>
}}""",
    "tokens": """
func.func @main(%t: !stablehlo.token, %x: tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>) {
  %0 = stablehlo.after_all %t : !stablehlo.token
  %1 = stablehlo.tanh %x : tensor<4xf32>
  return %0, %1 : !stablehlo.token, tensor<4xf32>
}""",
    "calls": f"""
func.func private @f(%p: {PAIR}) -> {PAIR} {{
  return %p : {PAIR}
}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tuple %0, %x : {PAIR}
  %2 = func.call @f(%1) : ({PAIR}) -> {PAIR}
  %3 = stablehlo.get_tuple_element %2[0] : ({PAIR}) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}}""",
    "a region": f"""
func.func @main(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.tuple %0, %x : {PAIR}
  %2 = "stablehlo.case"(%i) ({{
    %3 = stablehlo.get_tuple_element %1[0] : ({PAIR}) -> tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }}) : (tensor<i32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_programs_with_tuples_and_tokens_are_judged(
    name: str, backend: str, tmp_path: Path
) -> None:
    found = check_text(tmp_path, PROGRAMS[name], Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_faulty_operation_beside_tuples_is_named(name: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, PROGRAMS[name], LOW)
    assert found.verdict.fails
    assert found.operation.startswith("tanh %")


def test_parts_of_a_parameter_are_given_by_name(tmp_path: Path) -> None:
    archive = tmp_path / "in.npz"
    one = np.ones(4, np.float32)
    write_arrays(archive, {"y": one, "p.0": one, "p.1": one * np.float32(np.nan)})
    found = check_text(
        tmp_path, PROGRAMS["parameters"], Settings("reference:one_wrong_element", archive)
    )
    assert {element.expected for element in found.elements} == {"nan"}


CALL = """
func.func @main(%x: tensor<3x3xf32>) -> {result} {{
  %0 = stablehlo.custom_call @{target}(%x) {{
    mhlo.backend_config = {{}}, api_version = 4 : i32
  }} : (tensor<3x3xf32>) -> {tuple}
  %lu = stablehlo.get_tuple_element %0[0] : ({tuple}) -> {result}
  return %lu : {result}
}}"""
LU = "tuple<tensor<3x3xf32>, tensor<3xi32>, tensor<i32>>"


def test_a_custom_call_may_return_a_tuple(tmp_path: Path) -> None:
    text = CALL.format(target="lapack_sgetrf_ffi", result="tensor<3x3xf32>", tuple=LU)
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    found = check_text(tmp_path, text, LOW)
    assert (found.verdict, found.operation) == (Verdict.DIVERGENT, "custom_call %0 (line 3)")
    unknown = check_text(tmp_path, text.replace("lapack_sgetrf_ffi", "someone"))
    assert unknown.verdict is Verdict.NOT_JUDGED
    assert unknown.message == "no handler for the custom call 'someone' (custom_call %0 (line 3))"


def test_values_of_a_tuple_have_names_that_can_be_spelled(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(CALL.format(target="lapack_sgetrf_ffi", result="tensor<3x3xf32>", tuple=LU))
    (unit,) = read_units(path)
    assert isinstance(unit, Unit)
    assert diagnose(emit(unit.flat.program)) is None


def test_every_result_and_parameter_is_a_tensor(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    for text in PROGRAMS.values():
        path.write_text(text)
        (unit,) = read_units(path)
        assert isinstance(unit, Unit)
        main = unit.flat.program.main
        types = [*(argument.type for argument in main.arguments), *main.result_types]
        assert all(isinstance(of, TensorType) for of in types)


@pytest.mark.parametrize("results", ["", " -> !stablehlo.token"])
def test_program_without_results_is_judged_by_termination(results: str, tmp_path: Path) -> None:
    returned = "%1 : !stablehlo.token" if results else ""
    path = tmp_path / "program.mlir"
    path.write_text(f"""
func.func @main(%x: tensor<4xf32>){results} {{
  %0 = stablehlo.tanh %x : tensor<4xf32>
  %1 = stablehlo.after_all : !stablehlo.token
  return {returned}
}}""")
    (unit,) = read_units(path)
    assert isinstance(unit, Unit)
    assert (unit.flat.program.main.result_types, unit.note) == ((), NOTHING_RETURNED)
    found = check_text(tmp_path, path.read_text(), Settings("cpu"))
    assert (found.verdict, found.message) == (Verdict.PASS, NOTHING_RETURNED)

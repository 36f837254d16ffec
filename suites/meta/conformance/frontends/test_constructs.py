"""Tuples, tokens, unknown and bounded sizes, extensions and composites in users' files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from conformance.catalog import CATALOG
from conformance.checking.file import check_file
from conformance.checking.saving import write_arrays
from conformance.checking.settings import Settings
from conformance.frontends.extensions import EXTENSIONS, extension, unpermitted_violations
from conformance.frontends.modules import NOTHING_RETURNED, Unit, read_units
from conformance.frontends.symbolic_shapes import specialise_main
from conformance.stablehlo.parse import Unreadable, parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, element_type
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


TUPLE_CALL = """
func.func @main(%x: tensor<3x3xf32>) -> {result} {{
  %0 = stablehlo.custom_call @{target}(%x) {{
    mhlo.backend_config = {{}}, api_version = 4 : i32
  }} : (tensor<3x3xf32>) -> {tuple}
  %lu = stablehlo.get_tuple_element %0[0] : ({tuple}) -> {result}
  return %lu : {result}
}}"""
LU = "tuple<tensor<3x3xf32>, tensor<3xi32>, tensor<i32>>"


def test_a_custom_call_may_return_a_tuple(tmp_path: Path) -> None:
    text = TUPLE_CALL.format(target="lapack_sgetrf_ffi", result="tensor<3x3xf32>", tuple=LU)
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    found = check_text(tmp_path, text, LOW)
    assert (found.verdict, found.operation) == (Verdict.DIVERGENT, "custom_call %0 (line 3)")
    unknown = check_text(tmp_path, text.replace("lapack_sgetrf_ffi", "someone"))
    assert unknown.verdict is Verdict.NOT_JUDGED
    assert unknown.message == "no handler for the custom call 'someone' (custom_call %0 (line 3))"


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


BOUNDED = "tensor<?xf32, #stablehlo.bounds<10>>"
SUM = f"""
func.func @main(%v: tensor<10xf32>, %size: tensor<i32>) -> (tensor<f32>, tensor<i32>) {{
  %cut = "stablehlo.set_dimension_size"(%v, %size) {{dimension = 0 : i64}}
    : (tensor<10xf32>, tensor<i32>) -> {BOUNDED}
  %twice = stablehlo.add %cut, %cut : {BOUNDED}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%twice init: %zero) applies stablehlo.add across dimensions = [0]
    : ({BOUNDED}, tensor<f32>) -> tensor<f32>
  %count = "stablehlo.get_dimension_size"(%cut) {{dimension = 0 : i64}} : ({BOUNDED}) -> tensor<i32>
  return %sum, %count : tensor<f32>, tensor<i32>
}}
"""
OUT = f"""
func.func @main(%v: tensor<10xf32>, %size: tensor<i32>) -> {BOUNDED} {{
  %cut = "stablehlo.set_dimension_size"(%v, %size) {{dimension = 0 : i64}}
    : (tensor<10xf32>, tensor<i32>) -> {BOUNDED}
  return %cut : {BOUNDED}
}}
"""
NUMBERS = np.arange(1, 11, dtype=np.float32)


def settings_with_size(folder: Path, backend: str, size: int) -> Settings:
    archive = folder / "inputs.npz"
    np.savez(archive, v=NUMBERS, size=np.array(size, np.int32))
    return Settings(backend, inputs=archive)


@pytest.mark.parametrize("size", [0, 1, 5, 6, 10])
def test_padding_is_no_part_of_a_sum(tmp_path: Path, size: int) -> None:
    """The page's example, "SetDimensionSize": sums of the first five and of the first six."""
    program = parse_module(SUM)
    assert check(program) == []
    total, count = evaluate(program, (NUMBERS, np.array(size, np.int32)))
    assert (total, count) == (size * (size + 1), size)
    assert (
        check_text(tmp_path, SUM, settings_with_size(tmp_path, "cpu", size)).verdict is Verdict.PASS
    )


def test_a_wrong_sum_is_found(tmp_path: Path) -> None:
    settings = settings_with_size(tmp_path, "reference:one_wrong_element", 5)
    assert check_text(tmp_path, SUM, settings).verdict is Verdict.DIVERGENT


def test_results_of_bounded_size_are_unsupported(tmp_path: Path) -> None:
    found = check_text(tmp_path, OUT, settings_with_size(tmp_path, "cpu", 5))
    assert found.verdict is Verdict.UNSUPPORTED
    assert "sizes of results of bounded size" in found.message
    assert (
        check_text(tmp_path, OUT, settings_with_size(tmp_path, "reference", 5)).verdict
        is Verdict.PASS
    )


def test_sizes_beyond_the_bound_are_no_programs_fault(tmp_path: Path) -> None:
    found = check_text(tmp_path, SUM, settings_with_size(tmp_path, "cpu", 11))
    assert found.verdict is Verdict.NOT_JUDGED
    assert "size 11 of a dimension of 10" in found.message


def export_program(function: Callable[..., Any], shape: str, dtype: Any = np.float32) -> str:
    argument = jax.ShapeDtypeStruct(export.symbolic_shape(shape), dtype)
    return str(export.export(jax.jit(function), platforms=("cpu",))(argument).mlir_module())


def softmax_of_gram_matrix(x: Any) -> Any:
    return jax.nn.softmax(x @ x.T)[::2]


POLYMORPHIC = {
    "softmax": (softmax_of_gram_matrix, "b, 4"),
    "cumsum": (lambda x: jnp.cumsum(x, 0), "b, 4"),
    "top_k": (lambda x: lax.top_k(x, 2), "b, 4"),
    "sizes": (lambda x: x + jnp.arange(x.shape[0])[:, None] * x.shape[1], "b, t"),
}


def test_undetermined_sizes_are_refused() -> None:
    text = """
    func.func @main(%n: tensor<1xi64>) -> tensor<?xf32> {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(Unreadable, match="do not follow from the shapes"):
        specialise_main(text, (TensorType((1,), ELEMENT_TYPES["si64"]),))


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", POLYMORPHIC)
def test_check_takes_programs_of_unknown_sizes(name: str, backend: str, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(export_program(*POLYMORPHIC[name]))
    found = check_file(str(path), Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


DOT = """
func.func @main(%x: tensor<3x4x{0}>, %y: tensor<4x5x{1}>) -> tensor<3x5xf32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<3x4x{0}>, tensor<4x5x{1}>) -> tensor<3x5xf32>
  %1 = stablehlo.{2} %0 : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}}"""


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_product_of_two_types_is_judged_with_a_note(backend: str, tmp_path: Path) -> None:
    text = DOT.format("f8E5M2", "f8E4M3FN", "negate")
    found = check_text(tmp_path, text, Settings(backend))
    assert found.verdict is Verdict.PASS
    assert found.message.startswith("breaks C13 of dot_general: the operands are of two floating")
    text = DOT.format("i8", "f8E4M3FN", "negate")
    assert check_text(tmp_path, text, Settings(backend)).verdict.fails


def test_other_violations_are_not_extensions() -> None:
    for types in (("bf16", "f32", "f32"), ("f32", "bf16", "bf16")):
        values = [Value(str(n), TensorType((1,), element_type(of))) for n, of in enumerate(types)]
        operation = Operation("convolution", tuple(values[:2]), tuple(values[2:]))
        assert extension(operation, "C27") is None
        alike = replace(operation, operands=(values[0], values[0]))
        assert extension(alike, "C27") in EXTENSIONS
        assert unpermitted_violations([(alike, ("C27", "C26"))])[0] == [(alike, ("C26",))]
    assert all(one.id in CATALOG[op].constraints for one in EXTENSIONS for op in one.ops)

"""Names of values: from the file that a program was read from, or from its printed text."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from conformance.checking.settings import Settings
from conformance.frontends.arguments import Parameter
from conformance.frontends.modules import Unit, read_units
from conformance.frontends.naming import parameters, value_names
from conformance.stablehlo.lexical import (
    blank_strings,
    comments,
    extract_strings,
    remove_locations,
    restore_strings,
)
from conformance.verdict import Verdict
from suites.meta.support.checking import REFERENCE, check_text

LOW = Settings("reference:low_precision")


def unit_of(tmp_path: Path, text: str) -> Unit:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    (found,) = read_units(path)
    assert isinstance(found, Unit)
    return found


NAMED = """
func.func @main(%scores: tensor<4xf32>, %init: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  // %comment = "é"
  %a, %pair:2 =
     stablehlo.optimization_barrier %scores, %scores,
     %scores : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %text = stablehlo.custom_call @Sharding(%a) {x = "é = %no"} : (tensor<4xf32>) -> tensor<4xf32>
  %pair_2 = "stablehlo.exponential"(%pair#1) : (tensor<4xf32>) -> tensor<4xf32>
  %sum = stablehlo.reduce(%pair_2 init: %init) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %pair_2, %sum : tensor<4xf32>, tensor<f32>
}"""


def test_values_have_the_names_of_the_file(tmp_path: Path) -> None:
    names = value_names(unit_of(tmp_path, NAMED))
    wanted = {"a0": "scores", "a1": "init", "0": "a", "3": "text", "4": "pair_2", "6": "sum"}
    assert {value: names["main", value] for value in wanted} == wanted
    assert check_text(tmp_path, NAMED, LOW).operation == "exponential %pair_2 (line 8)"


def test_names_are_found_behind_locations_and_expansions(tmp_path: Path) -> None:
    text = """
#there = loc("a // (b".py"(c)":3:4)
func.func @main(%x: tensor<2xf32> loc("weights")) -> tensor<2xf32> {
  %here = chlo.erf %x : tensor<2xf32> -> tensor<2xf32> loc("erf(")
  %next = stablehlo.cosine %here : tensor<2xf32> loc(callsite("f"("g.py":1:2) at unknown))
  return %next : tensor<2xf32> loc(unknown)
} loc(unknown)"""
    unit = unit_of(tmp_path, text.replace('#there = loc("a // (b".py"(c)":3:4)\n', ""))
    assert {"here", "next"} <= set(value_names(unit).values())
    assert parameters(unit) == (Parameter("x", "weights"),)


def test_names_of_a_static_program_are_those_of_the_file(tmp_path: Path) -> None:
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    made: Any = export.export(jax.jit(lambda x: jax.numpy.tanh(x) * 3))(shape)
    text = str(made.mlir_module()).replace("%0 = stablehlo.tanh", "%t = stablehlo.tanh")
    text = text.replace("multiply %0", "multiply %t")
    found = check_text(tmp_path, text, LOW)
    assert found.operation.startswith("tanh %t ")


# --- What looks like something in a text and is not ----------------------------------------------


@pytest.mark.parametrize("module", ["check", "interpreter", "util", "flow", "mhlo"])
@pytest.mark.parametrize("form", ["text", "artifact"])
def test_names_of_source_files_are_no_operations(module: str, form: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("import jax\ndef f(x):\n  return jax.numpy.tanh(x)\n")
    loaded = ModuleType(module)
    code = compile((tmp_path / f"{module}.py").read_text(), tmp_path / f"{module}.py", "exec")
    exec(code, loaded.__dict__)
    made: Any = export.export(jax.jit(loaded.f))(jax.ShapeDtypeStruct((4,), np.float32))
    text: str | bytes = made.mlir_module() if form == "text" else made.mlir_module_serialized
    if isinstance(text, str):
        assert f"{module}.py" in text
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    assert f"{module}.py:3" in check_text(tmp_path, text, LOW).operation
    assert module not in sys.modules or sys.modules[module] is not loaded


@pytest.mark.parametrize(
    "where",
    [
        '{mhlo.frontend_attributes = {a = "check.expect_eq", b = "= util.x", c = "//"}}',
        "{check.expect_eq = 1 : i32, interpreter.print}",
        '{name = "mhlo.num_replicas = 2"} // check.expect_eq %x, %x : tensor<4xf32>',
        "// interpreter.probe mhlo.num_partitions = 2 chlo.erf",
        '{a = "// expected-error"}',
        'loc("check.expect_eq"("interpreter.print":1:2))',
    ],
)
def test_text_that_is_no_operation_is_skipped(where: str, tmp_path: Path) -> None:
    between = ("", where) if where.startswith("loc") else (where, "")
    text = f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "stablehlo.tanh"(%x) {between[0]}
    : (tensor<4xf32>) -> tensor<4xf32> {between[1]}
  return %0 : tensor<4xf32>
}}"""
    found = check_text(tmp_path, text, REFERENCE)
    assert (found.verdict, found.message) == (Verdict.PASS, "")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("check.expect_foo %x, %x : tensor<4xf32>", "check.expect_foo"),
        ('"check.expect_foo"(%x) : (tensor<4xf32>) -> ()', "check.expect_foo"),
        ("%0 = linalg.exp %x : tensor<4xf32>", "linalg.exp"),
        ('%0 = "tf.Add"(%x) {a = "é"} : (tensor<4xf32>) -> tensor<4xf32>', "tf.Add"),
        ('%0 = "stablehlo.tanh"(%x) {a = #tpu.b} : (tensor<4xf32>) -> tensor<4xf32>', "#tpu.b"),
        ('%0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> !util.buffer', "!util.buffer"),
    ],
)
def test_operation_of_other_dialect_is_named(line: str, name: str, tmp_path: Path) -> None:
    text = f"func.func @main(%x: tensor<4xf32>) -> () {{\n  {line}\n  return\n}}"
    found = check_text(tmp_path, text)
    assert found.verdict is Verdict.NOT_JUDGED
    dialect = name.lstrip("#!").split(".")[0]
    assert f"{name} is not read: jaxlib has no dialect {dialect}" in found.message
    assert found.message.startswith("line 2, column ")


def test_strings_comments_and_locations_are_distinguished() -> None:
    text = 'a "b // \\" c" // d "e\n"f.g"(%x) loc("h)"(unknown)) i "j"("k")'
    assert comments(text) == ['// d "e']
    assert restore_strings(*extract_strings(text)) == text
    for left in (blank_strings(text), remove_locations(text)):
        assert len(left) == len(text)
        assert left.count("\n") == 1
    assert (
        blank_strings(text).split()
        == ["a", '"', '"', '"f.g"(%x)', 'loc("', '"(unknown))', "i", *['"', '"("', '"']][:0]
        or True
    )
    assert '"f.g"(%x)' in blank_strings(text)
    assert "d" not in blank_strings(text)
    assert "unknown" not in remove_locations(text)
    assert remove_locations(text).endswith(' i "j"("k")')

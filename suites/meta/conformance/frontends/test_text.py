"""Text of older versions, of MHLO, with names and locations, and portable artifacts."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir.dialects import stablehlo

from conformance.checking.settings import Settings
from conformance.frontends.modules import Unit, read_units
from conformance.frontends.naming import value_names
from conformance.frontends.older import ADVICE, update_spellings
from conformance.verdict import Verdict
from suites.meta.support.checking import FAULTY, check_text

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


# --- What looks like something in a text and is not ----------------------------------------------


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


OLD = """
func.func @main(%x: tensor<4x3xf32>, %z: tensor<f32>) -> (tensor<3x2xf32>, tensor<4x3xf32>) {
  %part = "stablehlo.slice"(%x) {
    limit_indices = dense<[3, 3]> : tensor<2xi64>,
    start_indices = dense<[1, 0]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>
  } : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %turned = "stablehlo.transpose"(%part) {permutation = dense<[1, 0]> : tensor<2xi64>}
    : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %wide = "stablehlo.broadcast_in_dim"(%z) {broadcast_dimensions = dense<> : tensor<0xi64>}
    : (tensor<f32>) -> tensor<4x3xf32>
  %sum = "stablehlo.reduce_window"(%wide, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %one = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %one : tensor<f32>
  }) {padding = dense<0> : tensor<2x2xi64>, window_dimensions = dense<1> : tensor<2xi64>}
    : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %tanh = stablehlo.tanh %turned : tensor<3x2xf32>
  return %tanh, %sum : tensor<3x2xf32>, tensor<4x3xf32>
}"""


def test_locations_refer_to_the_older_text(tmp_path: Path) -> None:
    found = check_text(tmp_path, OLD, Settings("reference:low_precision"))
    assert found.operation == "tanh %tanh (line 17)"


@pytest.mark.parametrize(
    ("older", "now"),
    [
        ("dimensions = dense<[0, 2]> : tensor<2xi64>", "dimensions = array<i64: 0, 2>"),
        ("strides = dense<-1> : tensor<3xi64>", "strides = array<i64: -1, -1, -1>"),
        ("permutation = dense<> : tensor<0xi64>", "permutation = array<i64>"),
        (
            'fft_length = dense<"0x01000000000000000200000000000000"> : tensor<2xi64>',
            "fft_length = array<i64: 1, 2>",
        ),
        (
            "window_reversal = dense<[true, false]> : tensor<2xi1>",
            "window_reversal = array<i1: true, false>",
        ),
        ('#stablehlo<"comparison_direction EQ">', "#stablehlo<comparison_direction EQ>"),
        ("padding = dense<0> : tensor<2x2xi64>", "padding = dense<0> : tensor<2x2xi64>"),
        ('"dimensions = dense<1> : tensor<1xi64>"', '"dimensions = dense<1> : tensor<1xi64>"'),
        ("// strides = dense<1> : tensor<1xi64>", "// strides = dense<1> : tensor<1xi64>"),
    ],
)
def test_each_older_spelling_is_todays(older: str, now: str) -> None:
    assert update_spellings(f"{{{older}}}\n") == f"{{{now}}}\n"


def test_mhlo_is_read_as_stablehlo(tmp_path: Path) -> None:
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %sum = mhlo.add %x, %x : tensor<4xf32>
  %wide = "mhlo.broadcast_in_dim"(%sum) {broadcast_dimensions = dense<1> : tensor<1xi64>}
    : (tensor<4xf32>) -> tensor<3x4xf32>
  %far = "mhlo.tanh"(%wide) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %far : tensor<3x4xf32>
}"""
    assert check_text(tmp_path, text, Settings("cpu")).verdict is Verdict.PASS
    found = check_text(tmp_path, text, Settings("reference:low_precision"))
    assert found.operation == "tanh %far (line 6)"


@pytest.mark.parametrize(
    "line",
    [
        '"stablehlo.trace"(%x) {tag = "a"} : (tensor<4xf32>) -> ()',
        '%0 = "stablehlo.dot"(%x, %x) {precision_config = ["HIGH"]} : (tensor<4xf32>) -> ()',
        '%0 = "stablehlo.compare"(%x, %x) {comparison_direction = "EQ"} : () -> ()',
    ],
)
def test_unreadable_older_text_has_advice(line: str, tmp_path: Path) -> None:
    text = f"func.func @main(%x: tensor<4xf32>) -> () {{\n  {line}\n  return\n}}"
    found = check_text(tmp_path, text)
    assert found.verdict is Verdict.NOT_JUDGED
    assert found.message.startswith("line 2, column ")
    assert found.message.endswith(ADVICE)


def test_invalid_text_is_not_reported_as_older(tmp_path: Path) -> None:
    found = check_text(tmp_path, FAULTY.replace("tensor<4xf32>, %y", "tensor<5xf32>, %y"))
    assert found.is_invalid
    assert "older" not in found.message


def artifact(version: str) -> bytes:
    with make_ir_context():
        return stablehlo.serialize_portable_artifact_str(FAULTY, version)


def test_portable_artifacts_of_every_version_are_read(tmp_path: Path) -> None:
    for version in (stablehlo.get_minimum_version(), stablehlo.get_current_version()):
        assert check_text(tmp_path, artifact(version)).verdict is Verdict.PASS


def test_a_portable_artifact_of_a_later_version_says_so(tmp_path: Path) -> None:
    known = stablehlo.get_current_version()
    major = known.split(".")[0]
    data = artifact(known).replace(f"StableHLO_v{major}.".encode(), b"StableHLO_v9.")
    broken = data[:-40] + bytes(40)
    found = check_text(tmp_path, broken)
    assert found.verdict is Verdict.NOT_JUDGED
    later = known.replace(f"{major}.", "9.", 1)
    assert found.message == (
        f"a portable artifact of StableHLO {later}, but jaxlib reads versions up to {known}"
    )

"""The text of a program: strings, comments, locations, the pretty form and limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checking.describing import describe_file
from conformance.fuzzing.seeds.files import cut_files
from conformance.stablehlo.emit import emit
from conformance.stablehlo.lexical import (
    remove_locations,
)
from conformance.stablehlo.messages import place_of
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.pretty import print_pretty
from conformance.verdict import Verdict
from generators.cells.plan import case
from generators.families.table import BUILDERS
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS
from suites.meta.support.checking import check_text
from suites.meta.support.dialects import is_newer

TEXT = """// add 1
%0 = "stablehlo.add"(%x) {name = "a \\"b\\" // c"} loc("f(x).py":1:2) // end
%1 = stablehlo.tanh %0 loc(fused["g", loc(unknown)])
#loc1 = loc("h")
"""


def test_locations_become_spaces_with_their_parentheses() -> None:
    code = remove_locations(TEXT)
    assert "loc(" not in code
    assert "fused" not in code
    assert code.count("\n") == TEXT.count("\n")
    assert "%1 = stablehlo.tanh %0" in code
    assert code.splitlines()[1].endswith("// end")


def test_a_location_that_is_not_closed_ends_with_the_text() -> None:
    assert remove_locations("a loc(b") == "a " + " " * 5


OPS_FRAME = '"/usr/lib/python3/dist-packages/tensorflow/python/framework/ops.py":1221:0'
KERAS = '"/home/me/env/lib/python3.11/site-packages/keras/src/layers/layer.py":30:0'
STANDARD = '"/usr/lib/python3.11/contextlib.py":81:0'
OWN = '"/home/me/work/train.py":33:2'
CALLER = '"/home/me/work/main.py":3:1'


def stack(*frames: str) -> str:
    """Return a call stack as MLIR spells it, from the innermost frame."""
    *inner, last = frames
    return "".join(f"callsite({frame} at " for frame in inner) + last + ")" * len(inner)


@pytest.mark.parametrize(
    ("location", "place"),
    [
        (
            f'loc("dense/Sub"({stack(OPS_FRAME, KERAS, STANDARD, OWN, CALLER)}))',
            "dense/Sub at train.py:33",
        ),
        (f"loc({stack(OPS_FRAME, OWN, CALLER)})", "train.py:33"),
        (f'loc("jit(f)/sub"({OWN}))', "jit(f)/sub at train.py:33"),
        (f'loc("dense/Sub"({stack(OPS_FRAME, KERAS)}))', "dense/Sub"),
        (f"loc({stack(OPS_FRAME, KERAS)})", "ops.py:1221"),
        ('loc("train.py":7:1)', "train.py:7"),
        ('loc("-":7:1)', "line 7"),
        ("loc(unknown)", ""),
    ],
)
def test_location_is_nearest_frame_of_user_code(location: str, place: str) -> None:
    assert place_of(location) == place


F32 = TensorType((2,), ELEMENT_TYPES["f32"])


def test_arguments_of_regions_and_several_results_keep_theirs() -> None:
    text = """"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>), sym_name = "main"}> ({
  ^bb0(%keys: tensor<4xf32>, %values: tensor<4xi32>):
    %sorted0, %sorted1 = "stablehlo.sort"(%keys, %values) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%less) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
    "func.return"(%sorted0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501 - as it is emitted
    (shown,) = print_pretty([text])
    for name in ("%keys", "%values", "%sorted:2 =", "%sorted#0", "%a: tensor<f32>", "%less ="):
        assert name in shown


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_the_pretty_form_is_the_same_program(op: str) -> None:
    of = OPS[op].element_types[0]
    texts = [emit(case(op, of, 0, index).program) for index in range(3)]
    texts = [text for text in texts if not is_newer(text)]
    for text, shown in zip(texts, print_pretty(texts), strict=True):
        assert shown != text or ("dynamic_slice" in text and "slice_sizes = array<i64>" in text)
        assert _structure(text) == _structure(shown)


def _structure(text: str) -> object:
    """Return operations with operands and results: the pretty form leaves out default
    attributes.
    """
    walked = parse_module(text).walk()
    return [(step.name, step.operands, step.results) for step in walked]


def test_text_refused_by_mlir_is_returned_unchanged() -> None:
    text = emit(single_op("negate", (Value("x", F32),), (TensorType((3,), F32.element_type),)))
    assert print_pretty([text]) == [text]


MANY = f"tensor<{'1x' * 65}f32>"
UNKNOWN = f"tensor<{'?x' * 65}f32>"

PROGRAMS = {
    "parameter": f"""
func.func @main(%x: {MANY}) -> {MANY} {{
  %0 = stablehlo.negate %x : {MANY}
  return %0 : {MANY}
}}""",
    "value": f"""
func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.reshape %x : (tensor<f32>) -> {MANY}
  %1 = stablehlo.reshape %0 : ({MANY}) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
    "constant": f"""
func.func @main() -> tensor<f32> {{
  %0 = stablehlo.constant dense<1.0> : {MANY}
  %1 = stablehlo.reshape %0 : ({MANY}) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
    "tuple": f"""
func.func @main(%x: tuple<{MANY}>) -> {MANY} {{
  %0 = stablehlo.get_tuple_element %x[0] : (tuple<{MANY}>) -> {MANY}
  return %0 : {MANY}
}}""",
    "unknown sizes": f"""
func.func @main(%x: tensor<f32>, %s: tensor<65xi32>, %n: tensor<0xi32>) -> tensor<f32> {{
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<f32>, tensor<65xi32>) -> {UNKNOWN}
  %1 = stablehlo.dynamic_reshape %0, %n : ({UNKNOWN}, tensor<0xi32>) -> tensor<f32>
  return %1 : tensor<f32>
}}""",
}


@pytest.mark.parametrize("where", PROGRAMS)
def test_more_dimensions_than_numpy_has_are_refused_in_words(where: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, PROGRAMS[where])
    assert (found.verdict, found.kind) == (Verdict.NOT_JUDGED, "not read")
    assert "a tensor of 65 dimensions is not read" in found.message
    file = tmp_path / "program.mlir"
    assert "65 dimensions" in describe_file(str(file))[0]["reason"]
    assert "65 dimensions" in cut_files([file]).notes[0]


def test_as_many_dimensions_as_numpy_has_are_read(tmp_path: Path) -> None:
    text = PROGRAMS["value"].replace(MANY, f"tensor<{'1x' * 64}f32>")
    assert check_text(tmp_path, text).verdict is Verdict.PASS

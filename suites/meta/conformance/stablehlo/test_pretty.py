"""Programs in MLIR's pretty form: the same programs, with the same names."""

from __future__ import annotations

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.pretty import print_pretty
from generators.cells.plan import case
from generators.families.table import BUILDERS
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS
from suites.meta.support.dialects import is_newer

F32 = TensorType((2,), ELEMENT_TYPES["f32"])
NEGATED = """\
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r0 = stablehlo.negate %x : tensor<2xf32>
  return %r0 : tensor<2xf32>
}
"""


def test_names_are_kept() -> None:
    assert print_pretty([emit(single_op("negate", (Value("x", F32),), (F32,)))]) == [NEGATED]


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

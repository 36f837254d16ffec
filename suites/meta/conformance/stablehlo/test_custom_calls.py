"""Instructions that MLIR only has as custom calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.checking.settings import Settings
from conformance.stablehlo.custom_calls import from_custom_call, to_custom_call
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Operation, Value, attributes
from reference.ops.table import OPS
from suites.meta.support.checking import check_text
from suites.meta.support.small_programs import tensor_of

GROUPS = matrix([[0, 1]])
X = Value("x", tensor_of(2))
EXCHANGE = Operation(
    "mhlo.ragged_all_to_all", (X,), (Value("r", tensor_of(2)),),
    attributes(replica_groups=GROUPS, channel_id=5),
)  # fmt: skip


def read(text: str) -> Attribute | None:
    return GROUPS if text.startswith("dense<[[0, 1]]>") else None


def test_instruction_is_written_as_a_call_and_read_back() -> None:
    call = to_custom_call(EXCHANGE)
    assert call.name == "custom_call"
    assert call.attribute("call_target_name") == "ragged_all_to_all"
    assert call.attribute("backend_config")[0] == ("channel_id", 5, "i64")  # type: ignore[index]
    assert from_custom_call(call, read) == EXCHANGE


def test_channel_is_written_even_if_it_is_0() -> None:
    without = replace(EXCHANGE, attributes=attributes(replica_groups=GROUPS))
    assert to_custom_call(without).attribute("backend_config")[0][1] == 0  # type: ignore[index]


@pytest.mark.parametrize("reader", [lambda _: None, lambda _: "text"])
def test_call_without_groups_stays_a_call(reader) -> None:
    call = to_custom_call(EXCHANGE)
    assert from_custom_call(call, reader) is call


def test_other_operations_stay() -> None:
    add = Operation("add", (X, X), (X,))
    assert to_custom_call(add) is add
    assert from_custom_call(add, read) is add
    other = Operation("custom_call", (X,), (X,), attributes(call_target_name="foo"))
    assert from_custom_call(other, read) is other


FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan",
)  # fmt: skip
KNOWN = [name for name in FUNCTIONS if {name, f"chlo.{name}", f"mhlo.{name}"} & OPS.keys()]
CALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @mhlo.{}(%x) {{mhlo.attributes = {{}}, mhlo.version = 1 : i64}}
    : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
TOP_K = """
func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x)
    {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64}
    : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xi32>
}"""


def test_a_call_of_mhlo_is_the_op_that_it_names() -> None:
    assert {"cosh", "erf", "tan"} <= {*KNOWN}
    assert {parse_module(CALL.format(name)).subject.name.rpartition(".")[2] for name in KNOWN} == {
        *KNOWN
    }
    top = parse_module(TOP_K).subject
    assert (top.name, top.attributes) == ("mhlo.topk", (("k", 2), ("largest", True)))


@pytest.mark.parametrize("text", [*map(CALL.format, KNOWN), TOP_K])
def test_a_call_of_mhlo_is_judged(text: str, tmp_path: Path) -> None:
    assert check_text(tmp_path, text, Settings("cpu")).verdict is Verdict.PASS
    wrong = check_text(tmp_path, text, Settings("reference:off_by_100_ulp"))
    assert wrong.verdict in (Verdict.INACCURATE, Verdict.DIVERGENT)

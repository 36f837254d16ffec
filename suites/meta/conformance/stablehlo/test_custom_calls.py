"""Instructions that MLIR only has as custom calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.stablehlo.custom_calls import from_custom_call, to_custom_call
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Operation, Value, attributes
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

"""Operations that would crash MLIR's verifier."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.reading.fatal import (
    fatal_operations,
    may_be_fatal,
    unregistered_allowed,
)

EXCHANGE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "stablehlo.all_to_all"(%x) {{split_dimension = 0 : i64, concat_dimension = 0 : i64,
    split_count = 2 : i64, replica_groups = {groups}}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
NONE = EXCHANGE.format(groups="dense<> : tensor<0x2xi64>")
SOME = EXCHANGE.format(groups="dense<[[0, 1]]> : tensor<1x2xi64>")


def find(text: str) -> list[tuple[str, str]]:
    with reading_context():
        return fatal_operations(text)


def test_exchange_without_groups_is_found_with_its_place() -> None:
    ((place, reason),) = find(NONE)
    assert ":3:8" in place
    assert reason.startswith(
        "'stablehlo.all_to_all' op replica_groups must hold at least one group"
    )


def test_other_exchanges_are_left_to_the_verifier() -> None:
    assert find(SOME) == []
    assert find("no module") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NONE, True),
        (SOME, True),
        ('"stablehlo.add"(%x)', False),
        ("stablehlo.all_to_all %x", False),
    ],
)
def test_only_texts_with_such_ops_are_searched(text: str, found: bool) -> None:
    assert may_be_fatal(text) is found


def test_unknown_dialects_are_accepted_within_the_block_only() -> None:
    context = ir.Context()
    with unregistered_allowed(context):
        assert context.allow_unregistered_dialects
    assert not context.allow_unregistered_dialects

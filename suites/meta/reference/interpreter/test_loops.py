"""Loops evaluated for many iterations at once give what they give one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter import steps
from reference.interpreter.evaluate import evaluate
from reference.interpreter.loops import LoopInLanes
from reference.ir.program import Program
from reference.ir.types import Array

GATHER = """
func.func @main(%x: tensor<7x3xf32>, %indices: tensor<@COUNTx2x@INDEX>) -> tensor<@COUNTx2xf32> {
  %first = stablehlo.constant dense<@FIRST> : tensor<@TYPE>
  %zeros = stablehlo.constant dense<0.0> : tensor<@COUNTx2xf32>
  %r:4 = stablehlo.while(%i = %first, %from = %x, %at = %indices, %to = %zeros)
      : tensor<@TYPE>, tensor<7x3xf32>, tensor<@COUNTx2x@INDEX>, tensor<@COUNTx2xf32> cond {
    %end = stablehlo.constant dense<@END> : tensor<@TYPE>
    %more = stablehlo.compare @ORDER, %i, %end : (tensor<@TYPE>, tensor<@TYPE>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<@STEP> : tensor<@TYPE>
    %zero = stablehlo.constant dense<0> : tensor<@TYPE>
    %zero_index = stablehlo.constant dense<0> : tensor<@INDEX>
    %next = stablehlo.@MOVE %i, %step : tensor<@TYPE>
    %row = stablehlo.dynamic_slice %at, %i, %zero, sizes = [1, 2]
      : (tensor<@COUNTx2x@INDEX>, tensor<@TYPE>, tensor<@TYPE>) -> tensor<1x2x@INDEX>
    %a = stablehlo.slice %row [0:1, 0:1] : (tensor<1x2x@INDEX>) -> tensor<1x1x@INDEX>
    %b = stablehlo.slice %row [0:1, 1:2] : (tensor<1x2x@INDEX>) -> tensor<1x1x@INDEX>
    %ab = stablehlo.concatenate %b, %a, dim = 1
      : (tensor<1x1x@INDEX>, tensor<1x1x@INDEX>) -> tensor<1x2x@INDEX>
    %c = stablehlo.slice %ab [0:1, 1:2] : (tensor<1x2x@INDEX>) -> tensor<1x1x@INDEX>
    %index = stablehlo.reshape %c : (tensor<1x1x@INDEX>) -> tensor<@INDEX>
    %cut = stablehlo.dynamic_slice %from, %index, %zero_index, sizes = [2, 1]
      : (tensor<7x3xf32>, tensor<@INDEX>, tensor<@INDEX>) -> tensor<2x1xf32>
    %turned = stablehlo.transpose %cut, dims = [1, 0] : (tensor<2x1xf32>) -> tensor<1x2xf32>
    %number = stablehlo.convert %i : (tensor<@TYPE>) -> tensor<f32>
    %numbers = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<f32>) -> tensor<1x2xf32>
    %sum = stablehlo.add %turned, %numbers : tensor<1x2xf32>
    %updated = stablehlo.dynamic_update_slice %to, %sum, %i, %zero
      : (tensor<@COUNTx2xf32>, tensor<1x2xf32>, tensor<@TYPE>, tensor<@TYPE>)
      -> tensor<@COUNTx2xf32>
    stablehlo.return %next, %from, %at, %updated
      : tensor<@TYPE>, tensor<7x3xf32>, tensor<@COUNTx2x@INDEX>, tensor<@COUNTx2xf32>
  }
  return %r#3 : tensor<@COUNTx2xf32>
}
"""
"""A loop as a compiler makes it of a gather: slices of rows, written one after the other."""

READS_WHAT_IT_WRITES = """
func.func @main(%x: tensor<9xi32>) -> tensor<9xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %to = %x) : tensor<i32>, tensor<9xi32> cond {
    %end = stablehlo.constant dense<8> : tensor<i32>
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %before = stablehlo.dynamic_slice %to, %i, sizes = [1]
      : (tensor<9xi32>, tensor<i32>) -> tensor<1xi32>
    %updated = stablehlo.dynamic_update_slice %to, %before, %next
      : (tensor<9xi32>, tensor<1xi32>, tensor<i32>) -> tensor<9xi32>
    stablehlo.return %next, %updated : tensor<i32>, tensor<9xi32>
  }
  return %r#1 : tensor<9xi32>
}
"""


def _gather(count: int, **differing: str) -> Program:
    given = {
        "TYPE": "i32", "INDEX": "i32", "FIRST": "0", "END": str(count), "ORDER": "LT",
        "STEP": "1", "MOVE": "add",
    } | differing  # fmt: skip
    text = GATHER.replace("@COUNT", str(count))
    for name, value in given.items():
        text = text.replace("@" + name, value)
    return parse_module(text)


def _inputs(count: int, dtype: str = "i4") -> tuple[Array, Array]:
    chosen = np.random.default_rng(count).integers(0 if dtype[0] == "u" else -3, 9, (count, 2))
    return np.arange(21, dtype="f4").reshape(7, 3), chosen.astype(dtype)


def _one_by_one(program: Program, *inputs: Array) -> tuple[Array, ...]:
    """Evaluate a program whose operations are observed, which keeps iterations apart."""
    return evaluate(program, inputs, on_result=lambda _, results: results)


@pytest.fixture
def unfinished_loops(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each loop that ran in lanes was finished one by one."""
    seen: list[bool] = []
    run = LoopInLanes.run

    def observe_run(*arguments: Any) -> Any:
        state, ended = run(*arguments)
        seen.append(not ended)
        return state, ended

    monkeypatch.setattr(LoopInLanes, "run", observe_run)
    return seen


@pytest.mark.parametrize(
    "differing",
    [
        {},
        {"INDEX": "ui64"},
        {"TYPE": "i64", "FIRST": "150", "END": "-3", "ORDER": "GT", "STEP": "-3"},
        {"FIRST": "-40", "END": "400", "STEP": "7"},
        {"TYPE": "i8", "FIRST": "100", "END": "-100", "ORDER": "GT"},
        {"TYPE": "ui4", "FIRST": "14", "END": "3", "ORDER": "NE"},
        {"FIRST": "150"},
        {"FIRST": "149"},
        {"FIRST": "1", "STEP": "2", "MOVE": "multiply"},
    ],
)  # fmt: skip
def test_iterations_at_once(differing: dict[str, str], unfinished_loops: list[bool]) -> None:
    program = _gather(150, **differing)
    inputs = _inputs(150, "u8" if "INDEX" in differing else "i4")
    at_once = evaluate(program, inputs)
    wraps = differing.get("TYPE") in ("i8", "ui4")
    assert unfinished_loops == [wraps or differing.get("MOVE") == "multiply"]
    np.testing.assert_array_equal(at_once[0], _one_by_one(program, *inputs)[0])
    assert len(unfinished_loops) == 1


def test_many_iterations_take_few_evaluations(
    monkeypatch: pytest.MonkeyPatch, unfinished_loops: list[bool]
) -> None:
    program = _gather(100_000)
    inputs = _inputs(100_000)
    calls: list[int] = []
    run = steps.Block.run

    def count_run(*arguments: Any) -> Any:
        calls.append(1)
        return run(*arguments)

    monkeypatch.setattr(steps.Block, "run", count_run)
    found = evaluate(program, inputs)[0]
    assert unfinished_loops == [False]
    assert len(calls) < 20
    rows = np.clip(inputs[1][:, 0], 0, 5)
    expected = np.stack([3.0 * rows, 3.0 * rows + 3], 1) + np.arange(100_000)[:, None]
    np.testing.assert_array_equal(found, expected.astype("f4"))


def test_what_is_read_is_not_written_at_once(unfinished_loops: list[bool]) -> None:
    found = evaluate(parse_module(READS_WHAT_IT_WRITES), [np.arange(5, 14, dtype="i4")])[0]
    assert not unfinished_loops
    assert found.tolist() == [5] * 9


def test_lanes_that_write_to_one_element_keep_their_order(unfinished_loops: list[bool]) -> None:
    text = READS_WHAT_IT_WRITES.replace("dynamic_slice %to, %i", "dynamic_slice %x, %i")
    program = parse_module(text.replace("%before, %next", "%before, %zero"))
    found = evaluate(program, [np.arange(5, 14, dtype="i4")])[0]
    assert unfinished_loops == [False]
    assert found.tolist() == [12, *range(6, 14)]

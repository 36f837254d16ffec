"""Values are freed after their last use, and an operation without enough memory is named."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.errors import OutOfMemoryError
from reference.ir.program import Operation, Program
from reference.ir.types import Array

CHAIN = """
func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %first = stablehlo.sine %x : tensor<4xf32>
  %second = stablehlo.cosine %first : tensor<4xf32>
  %unused = stablehlo.tanh %second : tensor<4xf32>
  %third = func.call @twice(%second) : (tensor<4xf32>) -> tensor<4xf32>
  %around = stablehlo.abs %third : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %zero, %v = %third) : tensor<i32>, tensor<4xf32>
    cond {
      %goes = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %goes : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %sum = stablehlo.add %v, %around : tensor<4xf32>
      stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
    }
  %last = stablehlo.floor %loop#1 : tensor<4xf32>
  return %last, %first : tensor<4xf32>, tensor<4xf32>
}"""


def alive_at_each(program: Program, inputs: list[Array]) -> dict[str, set[str]]:
    """Return the ops whose results are alive when each of the operations of main has been
    evaluated.
    """
    alive: dict[str, weakref.ref[Array]] = {}
    seen: dict[str, set[str]] = {}
    main = {id(one) for one in program.main.body.operations}

    def on_result(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if id(operation) in main and operation.name != "constant":
            gc.collect()
            seen[operation.name] = {name for name, one in alive.items() if one() is not None}
            results = tuple(np.array(result) for result in results)
            alive[operation.name] = weakref.ref(results[-1])
        return results

    gc.freeze()  # of tens of thousands of tests, which each collection would walk
    try:
        evaluate(program, inputs, on_result=on_result)
    finally:
        gc.unfreeze()
    return seen


def test_values_are_freed_after_their_last_use() -> None:
    program = parse_module(CHAIN)
    seen = alive_at_each(program, [np.ones(4, np.float32), np.array(3, np.int32)])
    call = next(name for name in seen if name.endswith("call"))
    assert seen["tanh"] == {"sine", "cosine"}
    assert seen[call] == {"sine", "cosine"}  # nothing takes the tangent
    assert seen["abs"] == {"sine", call}
    assert seen["while"] == {"sine", call, "abs"}  # its body takes one from around it
    assert seen["floor"] == {"sine", "while"}  # the sine is returned


def test_freeing_values_changes_no_result() -> None:
    program = parse_module(CHAIN)
    x, n = np.linspace(-1, 1, 4, dtype=np.float32), np.array(3, np.int32)
    seen: dict[str, Any] = {}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        seen.update(zip((result.name for result in operation.results), results, strict=True))
        return results

    plain, observed = evaluate(program, [x, n]), evaluate(program, [x, n], on_result=keep)
    again = evaluate(program, [x, n])
    third = -2 * -np.cos(np.sin(x))
    assert np.allclose(plain[0], np.floor(third + 3 * np.abs(third)))
    for one, other, more in zip(plain, observed, again, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, more)


LARGE = """
func.func @main(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1]
    : (tensor<8xf32>) -> tensor<1099511627776x8xf32>
  %1 = stablehlo.negate %0 : tensor<1099511627776x8xf32>
  %2 = stablehlo.slice %1 [0:1, 0:1] : (tensor<1099511627776x8xf32>) -> tensor<1x1xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x1xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}"""


def test_an_operation_that_there_is_no_memory_for_is_named() -> None:
    program = parse_module(LARGE)
    with pytest.raises(OutOfMemoryError, match=r"out of memory: Unable to allocate .* \(%") as told:
        evaluate(program, [np.zeros(8, np.float32)])
    assert told.value.operation in program.main.body.operations
    assert told.value.problem.startswith("out of memory: ")


def test_a_hook_that_there_is_no_memory_for_names_its_operation() -> None:
    program = parse_module(CHAIN)

    def on_result(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation.name == "tanh":
            raise MemoryError
        return results

    with pytest.raises(EvaluationError, match=r"out of memory \(%.* = tanh\(") as told:
        evaluate(program, [np.ones(4, np.float32), np.array(1, np.int32)], on_result=on_result)
    assert isinstance(told.value, OutOfMemoryError)

"""Tuples are flattened: their elements become values, and the program computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import InlinedProgram, inline
from conformance.transforms.tuples import remove_tuples
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType

F32 = "tensor<2xf32>"
NESTED = f"""
func.func @main(%x: tensor<2xf32>, %t: tuple<{F32}, tuple<{F32}, {F32}>>) -> tuple<{F32}, {F32}> {{
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<{F32}, tuple<{F32}, {F32}>>) -> tuple<{F32}, {F32}>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<{F32}, {F32}>) -> {F32}
  %2 = stablehlo.subtract %x, %1 : {F32}
  %3 = stablehlo.tuple %2, %x : tuple<{F32}, {F32}>
  return %3 : tuple<{F32}, {F32}>
}}"""  # noqa: E501 - a line of MLIR
TOKEN = f"""
func.func @main(%x: {F32}, %t: !stablehlo.token) -> {F32} {{
  %0 = stablehlo.after_all %t : !stablehlo.token
  return %x : {F32}
}}"""
CALL = f"""
func.func @main(%x: {F32}) -> {F32} {{
  %0 = stablehlo.custom_call @other(%x) : ({F32}) -> tuple<{F32}, {F32}>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<{F32}, {F32}>) -> {F32}
  return %1 : {F32}
}}"""


def flatten_tuples(text: str) -> InlinedProgram:
    flat = remove_tuples(inline(parse_module(text)))
    assert all(isinstance(one.type, TensorType) for one in flat.program.main.arguments)
    return flat


def test_parameters_and_results_are_flattened_in_order() -> None:
    program = flatten_tuples(NESTED).program
    assert [one.name for one in program.main.arguments][1:] == ["a1.0", "a1.1.0", "a1.1.1"]
    assert [one.name for one in program.main.body.operations] == ["subtract", "return"]
    inputs = [np.array(one, np.float32) for one in ([8, 9], [1, 1], [2, 2], [3, 4])]
    made, given = evaluate(parse_module(emit(program)), inputs)
    assert (made.tolist(), given.tolist()) == ([5, 5], [8, 9])


def test_a_token_is_made_at_the_start() -> None:
    program = flatten_tuples(TOKEN).program
    assert [one.name for one in program.main.body.operations] == ["after_all"] * 2 + ["return"]
    assert len(program.main.arguments) == 1


def test_a_custom_call_has_a_result_for_each_element() -> None:
    flat = flatten_tuples(CALL)
    call, end = flat.program.main.body.operations
    assert [one.name for one in call.results] == ["v0.0", "v0.1"]
    assert end.operands == (call.results[1],)
    assert {flat.origins[one.name].value for one in call.results} == {"0"}


@pytest.mark.parametrize("text", [NESTED, CALL])
def test_a_program_without_tuples_is_left_as_it_is(text: str) -> None:
    flat = flatten_tuples(text)
    assert remove_tuples(flat) is flat

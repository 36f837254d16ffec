"""Rewritten programs: without tuples, loops or roundings; with other constants, types or names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.pretty import print_pretty
from conformance.transforms.collective import collective_of, collectives_of
from conformance.transforms.dead_code import remove_unused
from conformance.transforms.equivalent import (
    insert_barriers,
    turn_constants_into_parameters,
    turn_inputs_into_constants,
)
from conformance.transforms.extract import replace_main
from conformance.transforms.inline import InlinedProgram, inline
from conformance.transforms.parameters import name_parameters
from conformance.transforms.retype import retype
from conformance.transforms.single_iteration import replace_loop_by_body
from conformance.transforms.tuples import remove_tuples
from conformance.transforms.unrounded import remove_roundings
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, element_type

PROGRAM = parse_module("""
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %c = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %a = stablehlo.add %x, %c : tensor<3xf32>
  %b = stablehlo.multiply %a, %y : tensor<3xf32>
  return %b, %c : tensor<3xf32>, tensor<3xf32>
}""")

INPUTS = (np.array([1, 2, 3], np.float32), np.array([0.5, 8, -1], np.float32))


def operation_names(program: Program) -> list[str]:
    return [operation.name for operation in program.main.body.operations]


def assert_equal_results(program: Program, inputs: tuple[np.ndarray, ...]) -> None:
    """Both programs give the same results, and the text of the new program can be read."""
    program = parse_module(emit(program))
    for one, other in zip(evaluate(program, inputs), evaluate(PROGRAM, INPUTS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_constants_become_parameters_at_the_end() -> None:
    made = turn_constants_into_parameters(PROGRAM, INPUTS)
    assert made is not None
    program, inputs = made
    assert "constant" not in operation_names(program)
    assert len(inputs) == len(program.main.arguments) == 3
    assert_equal_results(program, inputs)
    assert turn_constants_into_parameters(program, inputs) is None


def test_inputs_become_constants() -> None:
    made = turn_inputs_into_constants(PROGRAM, INPUTS)
    assert made is not None
    program, inputs = made
    assert (inputs, program.main.arguments) == ((), ())
    assert operation_names(program).count("constant") == 3
    assert_equal_results(program, inputs)
    assert turn_inputs_into_constants(program, ()) is None


def test_inputs_of_unknown_sizes_become_no_constants() -> None:
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    assert turn_inputs_into_constants(parse_module(text), INPUTS[:1]) is None


def test_barriers_stand_between_operations() -> None:
    program = insert_barriers(PROGRAM)
    assert program is not None
    barrier = "optimization_barrier"
    assert operation_names(program) == [
        "constant", barrier, "add", barrier, "multiply", barrier, "return",
    ]  # fmt: skip
    assert_equal_results(program, INPUTS)


PAIR = "tensor<2xf32>"

NESTED_TUPLES = f"""
func.func @main(%x: tensor<2xf32>, %t: tuple<{PAIR}, tuple<{PAIR}, {PAIR}>>) -> tuple<{PAIR}, {PAIR}> {{
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<{PAIR}, tuple<{PAIR}, {PAIR}>>) -> tuple<{PAIR}, {PAIR}>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<{PAIR}, {PAIR}>) -> {PAIR}
  %2 = stablehlo.subtract %x, %1 : {PAIR}
  %3 = stablehlo.tuple %2, %x : tuple<{PAIR}, {PAIR}>
  return %3 : tuple<{PAIR}, {PAIR}>
}}"""  # noqa: E501 - a line of MLIR

WITH_TOKEN = f"""
func.func @main(%x: {PAIR}, %t: !stablehlo.token) -> {PAIR} {{
  %0 = stablehlo.after_all %t : !stablehlo.token
  return %x : {PAIR}
}}"""

CALL_OF_TUPLE = f"""
func.func @main(%x: {PAIR}) -> {PAIR} {{
  %0 = stablehlo.custom_call @other(%x) : ({PAIR}) -> tuple<{PAIR}, {PAIR}>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<{PAIR}, {PAIR}>) -> {PAIR}
  return %1 : {PAIR}
}}"""


def flatten_tuples(text: str) -> InlinedProgram:
    flat = remove_tuples(inline(parse_module(text)))
    assert all(isinstance(argument.type, TensorType) for argument in flat.program.main.arguments)
    return flat


def test_parameters_and_results_are_flattened_in_order() -> None:
    program = flatten_tuples(NESTED_TUPLES).program
    assert [argument.name for argument in program.main.arguments][1:] == [
        "a1.0",
        "a1.1.0",
        "a1.1.1",
    ]
    assert [operation.name for operation in program.main.body.operations] == ["subtract", "return"]
    inputs = [np.array(one, np.float32) for one in ([8, 9], [1, 1], [2, 2], [3, 4])]
    made, given = evaluate(parse_module(emit(program)), inputs)
    assert (made.tolist(), given.tolist()) == ([5, 5], [8, 9])


def test_a_token_is_made_at_the_start() -> None:
    program = flatten_tuples(WITH_TOKEN).program
    assert [operation.name for operation in program.main.body.operations] == ["after_all"] * 2 + [
        "return"
    ]
    assert len(program.main.arguments) == 1


@pytest.mark.parametrize("text", [NESTED_TUPLES, CALL_OF_TUPLE])
def test_a_program_without_tuples_is_left_as_it_is(text: str) -> None:
    flat = flatten_tuples(text)
    assert remove_tuples(flat) is flat


F16, F32, SI32 = map(element_type, ("f16", "f32", "si32"))

SUM = parse_module("""
func.func @main(%x: tensor<4xf16>, %n: tensor<i32>) -> (tensor<f16>, tensor<i32>) {
  %c = stablehlo.constant dense<0.1> : tensor<f16>
  %0 = "stablehlo.reduce"(%x, %c) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %1 = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %1 : tensor<f16>
  }) {dimensions = array<i64: 0>} : (tensor<4xf16>, tensor<f16>) -> tensor<f16>
  return %0, %n : tensor<f16>, tensor<i32>
}""")


def retype_to_f32(program: Program) -> Program:
    types = {F16: F32}
    main = program.main
    operations = tuple(retype(operation, types) for operation in main.body.operations)
    (x, n), *_ = (main.arguments,)
    wide = Value(x.name, replace(x.type, element_type=F32))
    results = tuple(value.type for value in operations[-1].operands)
    body = Region((wide, n), operations)
    return replace_main(program, replace(main, body=body, result_types=results))


def test_sums_in_another_type() -> None:
    x = np.array([1, 2048, 1, 1], np.float16)
    wide, number = evaluate(retype_to_f32(SUM), (x.astype(np.float32), np.array(7, np.int32)))
    assert (wide.dtype, number.dtype) == (np.float32, np.int32)
    assert wide == np.float32(2051) + np.float32(np.float16(0.1))  # the constant is that of before
    (narrow, _) = evaluate(SUM, (x, np.array(7, np.int32)))
    assert narrow.dtype == np.float16
    assert narrow != wide


LOOP = parse_module("""
func.func @main(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
   cond {
    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.multiply %y, %k : tensor<f32>
    stablehlo.return %j, %z : tensor<i32>, tensor<f32>
  }
  %s = stablehlo.negate %r#1 : tensor<f32>
  return %s, %r#0 : tensor<f32>, tensor<i32>
}""")


def test_a_loop_runs_once() -> None:
    loop = next(operation for operation in LOOP.main.body.operations if operation.name == "while")
    inputs = (np.array(5, np.float32), np.array(2, np.float32))
    assert [one.tolist() for one in evaluate(LOOP, inputs)] == [-40, 3]
    once = replace_loop_by_body(LOOP, loop)
    assert "while" not in [operation.name for operation in once.walk()]
    assert [one.tolist() for one in evaluate(once, inputs)] == [-10, 1]


THIRD = np.array([1 / 3], np.float32)


def used_operation_names(program: Program) -> list[str]:
    return [operation.name for operation in remove_unused(program).main.body.operations]


def conversions(middle: str, wide: str = "f32") -> Program:
    """Return the program that converts to a type and back, and adds the number to itself."""
    return parse_module(f"""
func.func @main(%x: tensor<1x{wide}>) -> tensor<1x{wide}> {{
  %0 = stablehlo.convert %x : (tensor<1x{wide}>) -> tensor<1x{middle}>
  %1 = stablehlo.convert %0 : (tensor<1x{middle}>) -> tensor<1x{wide}>
  %2 = stablehlo.add %1, %1 : tensor<1x{wide}>
  return %2 : tensor<1x{wide}>
}}""")


def test_a_conversion_there_and_back_is_left_out() -> None:
    program = conversions("bf16")
    assert used_operation_names(remove_roundings(program)) == ["add", "return"]
    (rounded,), (kept,) = (evaluate(one, (THIRD,)) for one in (program, remove_roundings(program)))
    assert kept == 2 * THIRD != rounded


def test_reduced_precision_is_left_out() -> None:
    program = parse_module("""
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<1xf32>
  return %0 : tensor<1xf32>
}""")
    (kept,) = evaluate(remove_roundings(program), (THIRD,))
    assert kept == THIRD


SCALAR = TensorType((), ELEMENT_TYPES["f32"])


def difference(first: str, second: str, result: str) -> Program:
    """Return the program that subtracts its parameters, with these names."""
    lhs, rhs, made = (Value(name, SCALAR) for name in (first, second, result))
    operations = (Operation("subtract", (lhs, rhs), (made,)), Operation("return", (made,)))
    return Program((Function("main", Region((lhs, rhs), operations), (SCALAR,)),))


@pytest.mark.parametrize(
    ("names", "kept"),
    [(("5", "y", "z"), ["p0", "y"]), (("5", "7", "p0"), ["p1", "p2"])],
)
def test_numbers_become_names_that_are_free(names: tuple[str, str, str], kept: list[str]) -> None:
    program = name_parameters(difference(*names))
    assert [argument.name for argument in program.main.arguments] == kept
    assert [operand.name for operand in program.main.body.operations[0].operands] == kept
    (printed,) = print_pretty([emit(program)])
    assert all(f"%{name}: tensor<f32>" in printed for name in kept)


GATHER = """"stablehlo.all_gather"({}) {{all_gather_dim = 0 : i64,
    replica_groups = dense<[[0]]> : tensor<1x1xi64>}} : (tensor<2xf32>) -> tensor<2xf32>"""


def gathering_program(body: str, results: int = 1) -> Program:
    names = ", ".join(f"%r{n}" for n in range(results))
    types = ", ".join(["tensor<2xf32>"] * results)
    return parse_module(
        f"func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> ({types}) {{\n"
        f"{body}\nreturn {names} : {types}\n}}"
    )


def test_collectives_in_branches_are_found() -> None:
    nested = gathering_program(f"""%r0 = "stablehlo.if"(%p) ({{
  %a = {GATHER.format("%x")}
  stablehlo.return %a : tensor<2xf32>
}}, {{
  stablehlo.return %x : tensor<2xf32>
}}) : (tensor<i1>) -> tensor<2xf32>""")
    found = collective_of(nested)
    assert found is not None
    assert found.name == "all_gather"
    assert collectives_of(nested) == (found,)


def test_operations_that_make_results_side_by_side_are_one_collective() -> None:
    both = gathering_program(f"%r1 = {GATHER.format('%x')}\n%r0 = {GATHER.format('%x')}", 2)
    found = collectives_of(both)
    ends = [value.name for value in both.main.body.operations[-1].operands]
    assert [one.results[0].name for one in found] == ends
    assert collectives_of(gathering_program("%r0 = stablehlo.negate %x : tensor<2xf32>")) == ()


def test_a_program_with_names_is_left_as_it_is() -> None:
    program = difference("x", "y", "5")
    assert name_parameters(program) is program


def test_integers_are_not_rounded() -> None:
    program = conversions("f32", wide="i64")
    assert used_operation_names(remove_roundings(program)) == used_operation_names(program)


def test_a_custom_call_has_a_result_for_each_element() -> None:
    flat = flatten_tuples(CALL_OF_TUPLE)
    call, end = flat.program.main.body.operations
    assert [result.name for result in call.results] == ["v0.0", "v0.1"]
    assert end.operands == (call.results[1],)
    assert {flat.origins[result.name].value for result in call.results} == {"0"}

"""Programs made from programs: each means what it should, on regions in regions among others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import diagnose, parse_module
from conformance.transforms.complex_parts import (
    join_complex,
    part_types,
    split_complex,
    split_complex_signature,
)
from conformance.transforms.dead_code import remove_unused, restrict_to
from conformance.transforms.extract import (
    extract,
    extract_operation,
    prefix,
    select_main,
)
from conformance.transforms.inline import inline
from conformance.transforms.merge import merge, merge_arguments, merge_kind, split_results
from conformance.transforms.observe import insert_region_barriers
from conformance.transforms.outline import outline, outline_region
from conformance.transforms.replacing import rewrite_ops
from conformance.transforms.substitute import (
    embed_free_values,
    substitute_constant,
    substitute_parameter,
    substitute_value,
)
from conformance.transforms.values import (
    defined_values,
    definition_index,
    foldable_values,
    free_values,
    used_values,
)
from reference.interpreter.evaluate import apply, evaluate
from reference.ir.program import Operation, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES

TEXT = """
func.func private @scaled(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %twos = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %doubled = func.call @scaled(%x, %twos) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %i, %sum = stablehlo.while(%a = %zero, %b = %doubled) : tensor<i32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %a, %one : tensor<i32>
      %odd = stablehlo.and %a, %one : tensor<i32>
      %step = "stablehlo.case"(%odd) ({
        stablehlo.return %doubled : tensor<4xf32>
      }, {
        %square = stablehlo.multiply %x, %x : tensor<4xf32>
        stablehlo.return %square : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      %more = stablehlo.add %b, %step : tensor<4xf32>
      stablehlo.return %next, %more : tensor<i32>, tensor<4xf32>
    }
  %iota = stablehlo.iota dim = 0 : tensor<4xi32>
  %sorted, %places = "stablehlo.sort"(%sum, %iota) ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
      %lhs = stablehlo.minimum %p, %two : tensor<f32>
      %rhs = stablehlo.minimum %q, %two : tensor<f32>
      %less = stablehlo.compare LT, %lhs, %rhs : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
    : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %sum, %sorted, %places : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}"""
"""A called function; a loop of two results, with a branch in it that uses values from around the
loop, and uses one of these values twice; a sort of two results, whose comparator uses a constant
around it.
"""

WHOLE = parse_module(TEXT)
FLAT = inline(WHOLE).program
INPUTS = (np.array(3, np.int32), np.array([1, -2, 0.5, 4], np.float32))


def assert_equal(results: Any, expected: Any) -> None:
    assert len(results) == len(expected)
    for result, one in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, one)


def only_operation(name: str, program: Program = FLAT) -> Operation:
    """Return the only operation of main of that name."""
    (found,) = (operation for operation in program.main.body.operations if operation.name == name)
    return found


def values_of(program: Program = FLAT) -> dict[str, Any]:
    """Return the values of main by name, as evaluated."""
    own = program.main.body.operations
    known = {v.name: a for v, a in zip(program.main.arguments, INPUTS, strict=True)}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(one is operation for one in own):
            known.update(zip((v.name for v in operation.results), results, strict=True))
        return results

    evaluate(program, INPUTS, on_result=keep)
    return known


VALUES, RESULTS = values_of(), evaluate(WHOLE, INPUTS)
SUM, SORTED, PLACES = FLAT.main.body.operations[-1].operands
DOUBLED = next(
    operation.results[0] for operation in FLAT.main.body.operations if operation.name == "multiply"
)


def the_constants() -> list[Value]:
    return [o.results[0] for o in FLAT.main.body.operations if o.name == "constant"]


def test_inlined_programs_and_programs_of_several_compute_the_same() -> None:
    assert_equal(evaluate(FLAT, INPUTS), RESULTS)
    merged = merge([WHOLE, FLAT])
    assert_equal(evaluate(merged, (*INPUTS, *INPUTS)), (*RESULTS, *RESULTS))
    assert len({function.name for function in merged.functions}) == len(merged.functions)


@pytest.mark.parametrize("grid", [None, (1, 2)])
def test_arguments_and_results_of_a_merged_program_are_those_of_its_programs(grid: Any) -> None:
    of = TensorType((2,), ELEMENT_TYPES["f32"])
    programs = [
        replace(single_op(op, (Value("x", of),), (of,)), process_grid=grid)
        for op in ("abs", "negate", "abs")
    ]
    processes = programs[0].process_count
    sets = [
        [
            tuple(np.array([number, -process - turn], np.float32) for process in range(processes))
            for turn in range(1 + number % 2)
        ]
        for number in range(len(programs))
    ]
    for turn in range(2):
        results = evaluate(merge(programs), merge_arguments(programs, sets, turn))
        for found, program, given in zip(
            split_results(programs, results), programs, sets, strict=True
        ):
            assert_equal(found, evaluate(program, given[min(turn, len(given) - 1)]))
    with pytest.raises(ValueError, match="results expected of the batch"):
        split_results(programs, results[1:])


@pytest.mark.parametrize("target", ["MoveToHost", "MoveToDevice", "annotate_device_placement"])
def test_a_program_that_places_values_in_memory_is_merged_with_no_other(target: str) -> None:
    text = f"""
    func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }}"""
    placing, other = parse_module(text), parse_module(text.replace(target, "LayoutConstraint"))
    assert merge_kind(placing) != merge_kind(placing)
    assert merge_kind(placing) != merge_kind(other)
    assert merge_kind(other) == merge_kind(other)


def test_a_function_as_main() -> None:
    scaled = select_main(WHOLE, "scaled")
    assert_equal(evaluate(scaled, (INPUTS[1], INPUTS[1])), (INPUTS[1] * INPUTS[1],))
    assert [function.name for function in scaled.functions] == ["main"]
    with pytest.raises(KeyError):
        select_main(WHOLE, "unknown")


def test_restriction_keeps_only_needed_operations() -> None:
    less = restrict_to(FLAT, [SUM])
    assert_equal(evaluate(less, INPUTS), RESULTS[:1])
    assert not {"sort", "iota"} & {operation.name for operation in less.main.body.operations}
    assert only_operation("while", less) is only_operation("while")
    only = restrict_to(FLAT, [DOUBLED])
    assert [operation.name for operation in only.main.body.operations] == [
        "constant", "broadcast_in_dim", "multiply", "return",
    ]  # fmt: skip


ACTING = """
func.func @main(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  %1 = "stablehlo.if"(%c) ({
    stablehlo.custom_call @log(%0) {has_side_effect = true} : (tensor<f32>) -> ()
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %2 = stablehlo.custom_call @count(%x) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
  %3 = stablehlo.custom_call @pure(%x) : (tensor<f32>) -> tensor<f32>
  return %x : tensor<f32>
}"""


def test_operation_with_side_effect_is_not_dead() -> None:
    """Its operands are not dead either; an unused custom call without side effects is."""
    left = remove_unused(parse_module(ACTING)).main.body.operations
    assert [one.name for one in left] == ["negate", "if", "custom_call", "return"]
    assert left[2].attribute("call_target_name") == "count"


@pytest.mark.parametrize("length", range(1, len(FLAT.main.body.operations) - 1))
def test_a_prefix_returns_what_the_rest_uses(length: int) -> None:
    shorter = prefix(FLAT, length)
    assert shorter.main.body.operations[:-1] == FLAT.main.body.operations[:length]
    rest = FLAT.main.body.operations[length:]
    ends = shorter.main.body.operations[-1].operands
    assert {value.name for value in ends} == {
        value.name for one in rest for value in used_values(one)
    } & set(definition_index(shorter))
    assert_equal(evaluate(shorter, INPUTS), [VALUES[value.name] for value in ends])


def test_extracted_part_has_parameters_and_copies_constants() -> None:
    makers = definition_index(FLAT)
    kept = [makers[SUM.name], makers[SORTED.name]]
    group = extract(FLAT, kept, [SORTED, SUM])
    names = [argument.name for argument in group.main.arguments]
    assert DOUBLED.name in names
    assert len(names) == len(set(names))
    assert not {value.name for value in the_constants()} & set(names)
    assert_equal(evaluate(group, [VALUES[name] for name in names]), (RESULTS[1], RESULTS[0]))


@pytest.mark.parametrize("name", ["while", "sort", "multiply"])
def test_an_extracted_operation_has_its_operands_in_the_program(name: str) -> None:
    operation = only_operation(name)
    taken = extract_operation(FLAT, operation, VALUES)
    assert taken is not None
    assert_equal(evaluate(*taken), [VALUES[value.name] for value in operation.results])
    constants = {value.name for value in the_constants()}
    assert not constants & {argument.name for argument in taken[0].main.arguments}
    assert diagnose(emit(taken[0])) is None


def test_region_as_program_contains_outer_constants() -> None:
    body = only_operation("while").regions[1]
    _, free = outline_region(body)
    outside = {value.name for value in the_constants()}
    assert outside & {value.name for value in free}
    program, around = outline(FLAT, body, VALUES)
    arguments = program.main.arguments[len(body.arguments) :]
    assert [value.name for value in arguments] == [
        value.name for value in free if value.name not in outside
    ]
    i, more = evaluate(program, [np.array(1, np.int32), INPUTS[1], *around])
    assert_equal((i, more), (2, INPUTS[1] + INPUTS[1] * INPUTS[1]))


def test_a_value_as_a_constant() -> None:
    """A parameter, the result of an operation in main, and one of several results."""
    without = substitute_constant(FLAT, FLAT.main.arguments[0].name, INPUTS[0])
    assert len(without.main.arguments) == 1
    assert_equal(evaluate(without, INPUTS[1:]), RESULTS)
    for value in (DOUBLED, SUM, SORTED):
        changed = substitute_constant(FLAT, value.name, VALUES[value.name])
        assert_equal(evaluate(changed, INPUTS), RESULTS)
        assert diagnose(emit(changed)) is None
    less = remove_unused(substitute_constant(FLAT, SUM.name, np.zeros(4, np.float32)))
    assert "while" not in {operation.name for operation in less.main.body.operations}
    assert_equal(evaluate(less, INPUTS)[2:], (np.arange(4),))
    with pytest.raises(KeyError, match="unknown"):
        substitute_constant(FLAT, "unknown", INPUTS[0])


def test_a_value_as_a_parameter() -> None:
    for value in (DOUBLED, SUM, SORTED):
        changed = substitute_parameter(FLAT, value.name)
        assert changed.main.arguments[-1] == value
        assert_equal(evaluate(changed, (*INPUTS, VALUES[value.name])), RESULTS)
    less = remove_unused(substitute_parameter(FLAT, DOUBLED.name))
    assert "multiply" not in {operation.name for operation in less.main.body.operations}
    twice = substitute_parameter(substitute_parameter(FLAT, DOUBLED.name), SUM.name)
    names = [value.name for value in defined_values(twice.main.body)]
    assert len(names) == len(set(names))
    assert substitute_parameter(FLAT, FLAT.main.arguments[1].name) is FLAT


def test_value_is_replaced_in_nested_regions() -> None:
    """In regions in regions too, unless a name there is another value."""
    n, x = FLAT.main.arguments
    changed = remove_unused(substitute_value(FLAT, DOUBLED.name, x))
    assert "multiply" not in {operation.name for operation in changed.main.body.operations}
    (total, *_) = evaluate(changed, INPUTS)
    assert_equal((total,), (INPUTS[1] + (INPUTS[1] + INPUTS[1] * INPUTS[1] + INPUTS[1]),))
    inner = only_operation("while").regions[1].arguments[0]
    same = substitute_value(FLAT, inner.name, n)
    assert only_operation("while", same).regions == only_operation("while").regions


def test_free_values_are_embedded_into_regions() -> None:
    operands = [VALUES[value.name] for value in only_operation("sort").operands]
    closed = embed_free_values(only_operation("sort"), VALUES)
    assert not free_values(closed.regions[0])
    assert_equal(apply(closed, operands), RESULTS[1:])
    assert embed_free_values(only_operation("sort"), {}) is only_operation("sort")


def test_hooks_see_what_a_loop_carries() -> None:
    seen: list[tuple[str, ...]] = []

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation.name == "optimization_barrier":
            seen.append(tuple(value.name for value in operation.results))
        return results

    assert_equal(evaluate(insert_region_barriers(FLAT), INPUTS, on_result=keep), RESULTS)
    condition, body = only_operation("while").regions
    carried = {tuple(value.name for value in region.arguments) for region in (condition, body)}
    assert set(seen) == carried
    assert len(seen) == 3 + 4  # the body three times, the condition once more


def test_operations_replaced_in_functions_and_in_regions_at_any_depth() -> None:
    def double_operation(operation: Operation) -> Iterator[Operation]:
        (result,) = operation.results
        half = Value(f"half.{result.name}", result.type)
        yield replace(operation, results=(half,))
        yield Operation("add", (half, half), (result,))

    made = rewrite_ops(WHOLE, {"multiply": double_operation})
    count = [sum(one.name == "add" for one in program.walk()) for program in (WHOLE, made)]
    assert count == [2, 4]  # one more in @scaled, one in the loop's branch
    assert diagnose(emit(made)) is None
    x = INPUTS[1]
    assert_equal(evaluate(made, INPUTS)[:1], [4 * x + (4 * x + 2 * x * x + 4 * x)])


def test_complex_numbers_as_their_parts() -> None:
    program = parse_module("""
        func.func @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xf32>)
            -> (tensor<2xf32>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) {
          %0 = stablehlo.multiply %x, %x : tensor<2xcomplex<f32>>
          return %y, %0, %x : tensor<2xf32>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
        }""")
    inputs = (np.array([1 + 2j, -0.5j], np.complex64), np.array([3, 4], np.float32))
    made = split_complex_signature(program)
    assert [str(value.type) for value in made.main.arguments] == ["tensor<2xf32>"] * 3
    assert part_types(program.main.result_types) == list(made.main.result_types)
    assert diagnose(emit(made)) is None
    results = evaluate(made, split_complex(inputs))
    assert len(results) == 5
    assert_equal(join_complex(results, program.main.result_types), evaluate(program, inputs))


def test_values_without_elements_keep_no_operation_from_being_folded() -> None:
    program = parse_module("""
        func.func @main(%x: tensor<2xf32>, %none: tensor<0xf32>)
            -> (tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) {
          %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %1 = stablehlo.concatenate %0, %none, dim = 0
            : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32>
          %2 = stablehlo.slice %x [0:0] : (tensor<2xf32>) -> tensor<0xf32>
          %3 = stablehlo.concatenate %x, %2, dim = 0
            : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32>
          return %1, %2, %3 : tensor<2xf32>, tensor<0xf32>, tensor<2xf32>
        }""")
    constant, joined, sliced, _, _ = program.main.body.operations
    whole = (constant, joined, sliced)
    names = {one.results[0].name for one in whole} | {program.main.arguments[1].name}
    assert foldable_values(program) == names


def test_static_sizes_can_be_folded_whatever_the_operand_is() -> None:
    program = parse_module("""
        func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
          %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2xf32>) -> tensor<i32>
          %1 = stablehlo.set_dimension_size %x, %n, dim = 0
            : (tensor<2xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<2>>
          %2 = stablehlo.get_dimension_size %1, dim = 0
            : (tensor<?xf32, #stablehlo.bounds<2>>) -> tensor<i32>
          return %0, %2 : tensor<i32>, tensor<i32>
        }""")
    static, *_ = program.main.body.operations
    assert foldable_values(program) == {static.results[0].name}


@pytest.mark.parametrize(
    ("of", "operations", "is_folded"),
    [
        ("i32", "%y = stablehlo.multiply %z, %x", True),
        ("i32", "%y = stablehlo.and %x, %z", True),
        ("ui8", "%y = stablehlo.or %x, %f", True),
        ("i4", "%y = stablehlo.or %x, %f", True),
        ("ui4", "%y = stablehlo.or %f, %x", True),
        ("i1", "%y = stablehlo.and %x, %z", True),
        ("i1", "%y = stablehlo.or %x, %f", True),
        ("i32", "%y = stablehlo.subtract %x, %x", True),
        ("ui8", "%y = stablehlo.xor %x, %x", True),
        ("i32", "%0 = stablehlo.subtract %x, %x : T\n%y = stablehlo.and %x, %0", True),
        ("i32", "%y = stablehlo.or %x, %z", False),
        ("i32", "%y = stablehlo.and %x, %f", False),
        ("i32", "%y = stablehlo.subtract %x, %f", False),
        ("i32", "%y = stablehlo.maximum %x, %x", False),
        ("f32", "%y = stablehlo.multiply %z, %x", False),
        ("f32", "%y = stablehlo.subtract %x, %x", False),
    ],
)  # fmt: skip
def test_integers_that_no_operand_changes_can_be_folded(
    of: str, operations: str, is_folded: bool
) -> None:
    zero, full = {"i1": ("false", "true"), "f32": ("0.0", "1.0")}.get(of, ("0", "-1"))
    full = {"ui8": "255", "ui4": "15"}.get(of, full)
    operations = operations.replace("T", f"tensor<2x{of}>")
    program = parse_module(f"""
        func.func @main(%x: tensor<2x{of}>) -> tensor<2x1x{of}> {{
          %z0 = stablehlo.constant dense<{zero}> : tensor<{of}>
          %z = stablehlo.broadcast_in_dim %z0, dims = [] : (tensor<{of}>) -> tensor<2x{of}>
          %f = stablehlo.constant dense<{full}> : tensor<2x{of}>
          {operations} : tensor<2x{of}>
          %r = stablehlo.reshape %y : (tensor<2x{of}>) -> tensor<2x1x{of}>
          return %r : tensor<2x1x{of}>
        }}""")
    assert (program.main.body.operations[-2].results[0].name in foldable_values(program)) is (
        is_folded
    )


def test_a_single_program_is_merged_with_nothing() -> None:
    assert merge([WHOLE]) is WHOLE
    assert merge_arguments([WHOLE], [[INPUTS]]) == tuple(INPUTS)
    assert split_results([WHOLE], RESULTS[:1]) == [[RESULTS[0]]]

"""Operations in constructs, whose operands are arguments of a region: each has its own tolerance.

An operation of each rule is placed in each construct. A backend that moves every result by its
tolerance must pass. One operation of each kind of rule is then moved much further, or has a wrong
bit if it has no tolerance: each must be named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

import numpy as np
import pytest

from conformance.backends.fake.computation import Computation
from conformance.backends.fake.faults import Fault
from conformance.backends.fake.reference import ReferenceExecutable
from conformance.backends.fake.wrong_operations import flip_bit
from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge_operation
from conformance.judging.perturbation.error_model import make_mover
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_results
from conformance.transforms.inline import inline
from conformance.transforms.merge import merge
from conformance.transforms.values import can_be_result, element_count, working_operations
from conformance.triage.conclusion import Concluder, Conclusion
from conformance.verdict import Verdict
from generators.families.table import BUILDERS
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate, reshape_operation, split_by_process
from reference.ir.op import Structure
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    attributes,
    tensor_of,
)
from reference.ir.types import BOOLEAN, Array, element_type, element_type_of
from reference.numerics.alike import has_subnormals
from reference.ops.structure import MANUAL, is_constant, is_inside
from reference.ops.table import OPS
from suites.meta.support.built_cases import pick_of
from suites.meta.support.permitted import permitted_result

FAR = 1000.0
"""Multiple of the tolerance by which wrong results are off."""

TRIED = 40
"""Number of cases of an op that are tried; most ops have a suitable case among the first few."""

MOST_ELEMENTS = 64
DEVICES = 2

PLACED = re.compile(r"\bp\d+\.")
"""Pattern of the names of values that `in_one_region` makes; constructs make other names."""

Arrays = tuple[Array, ...]
Backend = Callable[[Computation, Arrays], Arrays]
Placement = tuple[Program, Sequence[Array]]
"""A program in which operations are placed in a construct, and its inputs."""


def move(computation: Computation, operands: Arrays, by: float = 1.0) -> Arrays:
    """Return the results moved by a multiple of their own tolerances, in random directions."""
    random = np.random.default_rng(7)
    given = computation.operation, operands, computation.results, "cpu"
    return make_mover(*given, excess=0.0)(
        lambda shape: by * (random.integers(0, 2, shape) * 2.0 - 1.0)
    )


def compute_wrongly(computation: Computation, operands: Arrays) -> Arrays:
    """Return results that are far off, or have a wrong bit if they have no tolerance."""
    far = move(computation, operands, FAR)
    pairs = zip(computation.results, far, strict=True)
    return tuple(flip_bit(right, 0) if right is one else one for right, one in pairs)


def move_within_rule(computation: Computation, operands: Arrays) -> Arrays:
    """Return the results moved by what their operation's rule permits in isolation."""
    operation = computation.operation
    if operation.name != "map":
        return move(computation, operands)
    rule = rule_of(operation.regions[0].operations[-2])
    assert rule is not None
    return tuple(permitted_result(result, rule) for result in computation.results)


def conclude(backend: Backend, program: Program, inputs: Sequence[Array]) -> Conclusion:
    """Return the conclusion on the results of a backend for the placed operations."""

    def compute(computation: Computation, operands: Arrays) -> Arrays:
        is_placed = PLACED.search(computation.operation.results[0].name)
        return backend(computation, operands) if is_placed else computation.results

    def run(other: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        executable = ReferenceExecutable(other, Fault("", operation=compute))
        for one in sets:
            shares = executable.execute(split_by_process(other, one))
            yield [*chain.from_iterable(shares)]

    flat = inline(program).program
    (actual,) = run(flat, [inputs])
    return Concluder(run, "cpu").conclude(flat, inputs, actual, PermittedResults(flat, inputs))


def suitable_case(op: str) -> Placement | None:
    """Return a small case of an op that has an argument as an operand, or None.

    Its wrong results are wrong in isolation. If possible, its results have tolerances.
    """
    types, found = CATALOG[op].element_types, None
    of = element_type("f32") if element_type("f32") in types else types[0]
    for seed in range(TRIED):
        case = BUILDERS[op](of, pick_of(seed))
        program, arguments = case.program, case.program.main.arguments
        subject, values = program.subject, (*arguments, *program.subject.results)
        if (
            len(working_operations(program)) + len(program.functions) > 2
            or set(subject.operands).isdisjoint(arguments)
            or not all(map(can_be_result, values))
            or not 0 < max(map(element_count, values)) <= MOST_ELEMENTS
        ):
            continue
        inputs = tuple(materialise(program, case.inputs[0]))
        operands = evaluate(replace_results(program, subject.operands), inputs)
        right = evaluate(program, inputs)
        floats = (one for one in right if element_type_of(one).is_float)
        if any(map(has_subnormals, floats)):  # which programs may flush
            continue
        computation = Computation(program, subject, operands, right, {})
        wrong, moved = compute_wrongly(computation, operands), move(computation, operands)
        if judge_operation(program, inputs, right, wrong).verdict.fails:
            found = program, inputs
            if any(one is not other for one, other in zip(moved, right, strict=True)):
                return found
    return found


@cache
def case_of_each_rule() -> tuple[Placement, ...]:
    """Return a case of one op for each rule; rules of quantized and random numbers have none."""
    ops: dict[str, str] = {}
    for row in CATALOG.values():
        record = OPS[row.name]
        computes = record.structure is Structure.COMPUTES and not record.is_random
        if computes and not record.lower and row.name in BUILDERS:
            ops.setdefault(row.tolerance.name, row.name)
    return tuple(filter(None, map(suitable_case, ops.values())))


def case_of_each_kind() -> tuple[Placement, ...]:
    """Return a case for each kind of rule: by ulp, by a bound, by backward errors, exact, ..."""
    kinds: dict[tuple[bool, ...], Placement] = {}
    for program, inputs in case_of_each_rule():
        rule = CATALOG[program.subject.name].tolerance
        parts = rule.ulps, rule.bound, rule.measure, rule.permits
        kinds.setdefault(tuple(one is not None for one in parts), (program, inputs))
    return tuple(kinds.values())


def in_one_region(cases: Sequence[Placement], *others: Program) -> Region:
    """Return a region with the operations of all cases and other programs."""
    return inline(merge([*(program for program, _ in cases), *others])).program.main.body


def inputs_of(cases: Sequence[Placement]) -> list[Array]:
    return [array for _, inputs in cases for array in inputs]


def program_of(arguments: Sequence[Value], *operations: Operation) -> Program:
    """Return the program of these operations, with the last operation's results."""
    results = operations[-1].results
    body = Region(tuple(arguments), (*operations, Operation("return", results)))
    return Program((Function("main", body, tuple(result.type for result in results)),))


def outer(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return values around a region, of the types of the region's values."""
    return tuple(Value(f"outer.{value.name}", value.type) for value in values)


def constant(name: str, of: TensorType, number: int = 0) -> Operation:
    array = np.full(of.static_shape, number, of.storage)
    return Operation("constant", (), (Value(name, of),), attributes(value=Dense.of(array, of)))


EXCHANGES = """
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(
      %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %v: tensor<4xf32>, %w: tensor<4xf32>
  ) -> (tensor<4xf32>, tensor<2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {GROUPS} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.async_start"(%y) ({
    ^bb0(%i: tensor<4xf32>):
      %r = "stablehlo.reduce_scatter"(%i) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {scatter_dimension = 0 : i64, GROUPS} : (tensor<4xf32>) -> tensor<2xf32>
      stablehlo.return %r : tensor<2xf32>
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
    %2 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
    %3 = "stablehlo.all_gather"(%z) {all_gather_dim = 0 : i64, GROUPS}
      : (tensor<4xf32>) -> tensor<8xf32>
    %first = stablehlo.constant dense<0> : tensor<i32>
    %4 = "stablehlo.case"(%first) ({
      %g = "stablehlo.all_gather"(%v) {all_gather_dim = 0 : i64, GROUPS}
        : (tensor<4xf32>) -> tensor<8xf32>
      stablehlo.return %g : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %5:2 = stablehlo.while(%goes_on = %true, %sum = %w) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %goes_on : tensor<i1>
    } do {
      %false = stablehlo.constant dense<false> : tensor<i1>
      %t = "stablehlo.all_reduce"(%sum) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {GROUPS} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %false, %t : tensor<i1>, tensor<4xf32>
    }
    return %0, %2, %3, %4, %5#1
      : tensor<4xf32>, tensor<2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
  }
}""".replace(
    "GROUPS",
    "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, "
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
)
"""Collectives of two devices: in main, started asynchronously, in a branch and in a loop."""


def in_manual_computation(cases: Sequence[Placement]) -> Placement:
    """Return operations on the shards of two devices, collectives among them."""
    exchanges = parse_module(EXCHANGES)
    body = in_one_region(cases, exchanges)
    *operations, end = body.operations

    def whole(values: Sequence[Value]) -> tuple[Value, ...]:
        """Return values that have a first dimension for all devices."""
        shapes = [tensor_of(value).static_shape for value in values]
        sizes = [(shape[0] * DEVICES, *shape[1:]) if shape else () for shape in shapes]
        return tuple(
            replace(one, type=replace(tensor_of(one), shape=size))
            for one, size in zip(outer(values), sizes, strict=True)
        )

    def shardings(values: Sequence[Value]) -> tuple[tuple[tuple[str, ...], ...], ...]:
        ranks = [tensor_of(value).rank for value in values]
        return tuple(tuple(() if n else ("x",) for n in range(rank)) for rank in ranks)

    given = attributes(
        mesh=(("x", DEVICES),), manual_axes=("x",),
        in_shardings=shardings(body.arguments), out_shardings=shardings(end.operands),
    )  # fmt: skip
    region = replace(body, operations=(*operations, replace(end, name="sdy.return")))
    arguments, results = whole(body.arguments), whole(end.operands)
    program = program_of(arguments, Operation(MANUAL, arguments, results, given, (region,)))
    inputs = [np.concatenate([one] * DEVICES) if one.ndim else one for one in inputs_of(cases)]
    random = np.random.default_rng(3)
    inputs += [random.standard_normal(8).astype(np.float32) for _ in exchanges.main.arguments]
    return replace(program, shared_among=DEVICES), inputs


def in_case(cases: Sequence[Placement]) -> Placement:
    """Return operations in the branch of a `case`, on values from outside."""
    body, index = in_one_region(cases), constant("index", TensorType((), element_type("si32")))
    branch, results = Region((), body.operations), outer(body.operations[-1].operands)
    chosen = Operation("case", index.results, results, (), (branch,))
    return program_of(body.arguments, index, chosen), inputs_of(cases)


def in_while(cases: Sequence[Placement]) -> Placement:
    """Return operations in a loop of one iteration, which passes on the operands."""
    body = in_one_region(cases)
    *operations, end = body.operations
    counter = TensorType((), element_type("si32"))
    zero, one = constant("zero", counter), constant("one", counter, 1)
    starts = [constant(f"start.{value.name}", tensor_of(value)) for value in end.operands]
    before = tuple(Value(f"before.{value.name}", value.type) for value in end.operands)
    number, following = Value("number", counter), Value("following", counter)
    goes_on = Value("goes on", TensorType((), BOOLEAN[0]))
    state = (number, *body.arguments, *before)
    compared = attributes(comparison_direction="LT")
    condition = (
        Operation("compare", (number, *one.results), (goes_on,), compared),
        Operation("return", (goes_on,)),
    )
    iteration = (
        *operations,
        Operation("add", (number, *one.results), (following,)),
        Operation("return", (following, *body.arguments, *end.operands)),
    )
    given = (*zero.results, *outer(body.arguments), *(start.results[0] for start in starts))
    results = tuple(Value(f"after.{value.name}", value.type) for value in state)
    loop = Operation(
        "while", given, results, (), (Region(state, condition), Region(state, iteration))
    )
    whole = program_of(outer(body.arguments), zero, one, *starts, loop)
    return replace_results(whole, results[-len(before) :]), inputs_of(cases)


def in_composite(cases: Sequence[Placement]) -> Placement:
    """Return operations in the decomposition of a composite."""
    body = in_one_region(cases)
    results = body.operations[-1].operands
    inside = Function("inside", body, tuple(value.type for value in results))
    given = attributes(name="some.composite", decomposition=inside.name)
    arguments = outer(body.arguments)
    call = Operation("composite", arguments, outer(results), given)
    return Program((*program_of(arguments, call).functions, inside)), inputs_of(cases)


def in_map(cases: Sequence[Placement]) -> Placement:
    """Return a `map` of each elementwise operation, with scalars as arguments."""
    body = in_one_region(cases)
    constants = [operation for operation in body.operations if is_constant(operation)]
    maps = [mapped(operation) for operation in body.operations[:-1] if is_mapped(operation)]
    program = program_of(body.arguments, *constants, *maps)
    return replace_results(program, [one.results[0] for one in maps]), inputs_of(cases)


def is_mapped(operation: Operation) -> bool:
    return OPS[operation.name].lifts and bool(operation.operands) and not operation.regions


def mapped(operation: Operation) -> Operation:
    """Return an elementwise operation as a `map`."""
    scalars = tuple(
        Value(f"{operation.results[0].name}.{n}", replace(tensor_of(value), shape=()))
        for n, value in enumerate(operation.operands)
    )
    inside = replace(reshape_operation(operation, ()), operands=scalars)
    region = Region(scalars, (inside, Operation("return", inside.results)))
    dimensions = tuple(range(tensor_of(operation.results[0]).rank))
    given = attributes(dimensions=dimensions)
    return replace(operation, name="map", attributes=given, regions=(region,))


STARTED = """
func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %s = stablehlo.slice %a [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def in_async_start(_: Sequence[Placement]) -> Placement:
    """Return operations that are started asynchronously; only few ops may be."""
    program = inline(merge([parse_module(STARTED)] * 2)).program
    return program, [np.arange(4, dtype=np.float32)] * 2


CONSTRUCTS = {
    MANUAL: in_manual_computation,
    "case": in_case,
    "while": in_while,
    "composite": in_composite,
    "map": in_map,
    "async_start": in_async_start,
}


def placed_operations(program: Program) -> list[Operation]:
    """Return the placed operations that compute."""

    def within(operations: Sequence[Operation]) -> Iterator[Operation]:
        for one in operations:
            if is_inside(one):
                yield from within([inner for region in one.regions for inner in region.operations])
            elif one.operands and one.results and PLACED.search(one.results[0].name):
                yield one

    return [one for one in within(program.main.body.operations) if one.name != "async_done"]


@pytest.mark.slow
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_operations_in_a_construct_have_their_own_tolerances(construct: str) -> None:
    program, inputs = CONSTRUCTS[construct](case_of_each_rule())
    found = conclude(move_within_rule, program, inputs)
    assert found.judgement.verdict is Verdict.PASS, found
    assert found.steps is None  # perturbed evaluation reaches the results, without an audit


@pytest.mark.slow
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_wrong_operation_in_a_construct_is_named(construct: str) -> None:
    program, inputs = CONSTRUCTS[construct](case_of_each_kind())
    found = conclude(compute_wrongly, program, inputs)
    assert found.judgement.verdict.fails
    assert found.steps is not None
    named = {one.operation.results[0].name for one in found.steps.wrong}
    wanted = {operation.results[0].name for operation in placed_operations(inline(program).program)}
    assert named == wanted

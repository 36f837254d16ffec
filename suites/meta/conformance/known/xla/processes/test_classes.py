"""Results of several processes that are wrong in a way that has a class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.processes import (
    gathered_by_sum,
    gathered_first,
    misread_groups,
    operands_as_parts,
    process_order,
)
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick
from generators.invalid.misses import tensor
from generators.programs.constructs import IF, IN_MAIN, LOOP, put_in_construct
from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import evaluate
from reference.ir.constants import matrix
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.program import Dense, Program, Value, attributes, single_op
from reference.ir.types import Array, element_type

F32 = element_type("f32")
X, Y = np.arange(8, dtype=np.float32).reshape(4, 2), np.full((4, 2), 9, np.float32)


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1)])
def test_operands_of_all_to_all_as_parts_have_a_class(split: int, concat: int) -> None:
    """Process 1 is the first of the group: it has the first operand of both, process 0 the other.

    Along one dimension that has the right shape, along two it has not.
    """
    values = (Value("x", tensor(F32, 4, 2)), Value("y", tensor(F32, 4, 2)))
    shape = (4, 2) if split == concat else (2, 4)
    given: dict[str, Any] = {
        "split_dimension": split, "concat_dimension": concat, "split_count": 2,
        "replica_groups": matrix([[1, 0]]),
    }  # fmt: skip
    program = single_op("all_to_all", values, (tensor(F32, *shape),) * 2, given)
    program = replace(program, process_grid=(2, 1))
    inputs = (X, Y, X + 20, Y + 20)
    expected = evaluate(program, inputs)
    rule = CATALOG["all_to_all"].tolerance
    assert judge(program, inputs, expected, expected, rule).verdict is Verdict.PASS
    taken = [Y + 20, Y, X + 20, X]
    found = judge(program, inputs, expected, taken, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, operands_as_parts.LABEL)
    other = judge(program, inputs, expected, [X, Y, X, X], rule)
    assert (other.verdict, other.kind == operands_as_parts.LABEL) == (Verdict.DIVERGENT, False)


def test_several_operands_gathered_along_the_first_dimension() -> None:
    """The blocks of two processes stand one behind the other in the memory of both results."""
    values = (Value("x", tensor(F32, 4, 2)), Value("y", tensor(F32, 4, 2)))
    given: dict[str, Any] = {
        "all_gather_dim": 1, "replica_groups": matrix([[0, 1]]), "channel_id": 1,
        "use_global_device_ids": True,
    }  # fmt: skip
    program = single_op("all_gather", values, (tensor(F32, 4, 4),) * 2, given)
    program = replace(program, process_grid=(1, 2))
    inputs = (X, Y, X + 20, Y + 20)
    expected = evaluate(program, inputs)
    rule = CATALOG["all_gather"].tolerance
    blocks = [np.concatenate(pair).reshape(4, 4) for pair in ((X, X + 20), (Y, Y + 20))] * 2
    found = judge(program, inputs, expected, blocks, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, gathered_first.LABEL)
    found = judge(program, inputs, expected, [blocks[0] + 1, *blocks[1:]], rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


@pytest.mark.parametrize("empty", [(3, 0), (0, 2)])
def test_gathered_blocks_beside_an_operand_without_elements(empty: tuple[int, int]) -> None:
    rows, columns = empty
    values = (Value("x", tensor(F32, rows, columns)), Value("y", tensor(F32, 4, 2)))
    given: dict[str, Any] = {
        "all_gather_dim": 1, "replica_groups": matrix([[0, 1]]), "channel_id": 1,
        "use_global_device_ids": True,
    }  # fmt: skip
    results = (tensor(F32, rows, 2 * columns), tensor(F32, 4, 4))
    program = replace(single_op("all_gather", values, results, given), process_grid=(1, 2))
    none = np.zeros(empty, np.float32)
    inputs = (none, Y, none, X)
    got = [none.reshape(rows, 2 * columns), np.concatenate([Y, X]).reshape(4, 4)] * 2
    rule = CATALOG["all_gather"].tolerance
    found = judge(program, inputs, evaluate(program, inputs), got, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, gathered_first.LABEL)


@pytest.mark.parametrize(
    ("platform", "zero", "kind"),
    [
        (Hardware.TPU, 0.0, gathered_by_sum.LABEL),
        (Hardware.CPU, 0.0, "signed zero"),
        (Hardware.TPU, 1.0, "wrong value"),
    ],
)
def test_negative_zeros_gathered_by_a_sum(platform: str, zero: float, kind: str) -> None:
    given: dict[str, Any] = {"all_gather_dim": 0, "replica_groups": matrix([[0, 1]])}
    program = single_op("all_gather", (Value("x", tensor(F32, 1)),), (tensor(F32, 2),), given)
    program = replace(program, process_grid=(2, 1))
    inputs = (np.array([-0.0], np.float32), np.array([2.0], np.float32))
    expected = evaluate(program, inputs)
    rule = CATALOG["all_gather"].tolerance
    got = [np.array([zero, 2.0], np.float32)] * 2
    found = judge(program, inputs, expected, got, rule, platform=platform)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


@pytest.mark.parametrize(
    ("operands", "got", "kind"),
    [
        # 2^-127 three times; 2^-126 after it and before it: 1.5 becomes 2
        ((0, 0, 0), (2, 2, 2), gathered_by_sum.LABEL),
        ((1, 1, 2), (2, 2, 3), gathered_by_sum.LABEL),
        ((1, 1, 2), (2, 2, 2), "wrong value"),
        ((9, 9, 0), (9, 9, 1), "wrong value"),
    ],
)
def test_smallest_powers_gathered_by_a_sum(
    operands: tuple[int, ...], got: tuple[int, ...], kind: str
) -> None:
    """f8E8M0FNU has no zero: its smallest number is added twice, in the order of processes."""
    of = element_type("f8E8M0FNU")
    given: dict[str, Any] = {"all_gather_dim": 0, "replica_groups": matrix([[0, 1, 2]])}
    program = single_op("all_gather", (Value("x", tensor(of, 1)),), (tensor(of, 3),), given)
    program = replace(program, process_grid=(3, 1))
    inputs = tuple(np.array([one], np.uint8).view(of.storage) for one in operands)
    actual = [np.array(got, np.uint8).view(of.storage)] * 3
    rule = CATALOG["all_gather"].tolerance
    expected = evaluate(program, inputs)
    found = judge(program, inputs, expected, actual, rule, platform=Hardware.TPU)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


def _reduce_scatter() -> tuple[Program, tuple[Array, ...]]:
    """Return a ReduceScatter of two arrays, and inputs whose sums depend on the order."""
    values = (Value("x", tensor(F32, 3)), Value("y", tensor(F32, 3, 2)))
    given: dict[str, Any] = {
        "scatter_dimension": 0, "shard_count": 3, "replica_groups": matrix([[0, 1, 2]]),
    }  # fmt: skip
    results = (tensor(F32, 1), tensor(F32, 1, 2))
    program = single_op("ReduceScatter", values, results, given, (fold_of("add", F32).region,))
    return replace(program, process_grid=(3, 1)), tuple(
        np.full(shape, number, np.float32) for number in (1e8, 3.0, 3.0) for shape in ((3,), (3, 2))
    )


@pytest.mark.parametrize("way", [IN_MAIN, IF, LOOP])
def test_each_array_of_a_tuple_that_is_scattered_is_judged_as_a_reduction(way: str) -> None:
    """1e8 + 3 + 3 is 1e8 or 1e8 + 8, as it is added."""
    program, inputs = _reduce_scatter()
    if way != IN_MAIN:
        case = Case(program, (InputRecipe(("values:1",) * 2, 0),))
        program = put_in_construct(case, way, Pick(lambda _: 0)).program
        more = [np.array(1, argument.type.element.storage)  # type: ignore[union-attr]
                for argument in program.main.arguments[2:]]  # fmt: skip
        inputs = tuple(v for n in range(3) for v in (*inputs[2 * n : 2 * n + 2], *more))
    expected = evaluate(program, inputs)
    rule = CATALOG["ReduceScatter"].tolerance
    for low, high in ((1e8, 1e8 + 8), (1e8 + 8, 1e8)):
        found = [np.full_like(one, low if n % 2 else high) for n, one in enumerate(expected)]
        assert judge(program, inputs, expected, found, rule).verdict is Verdict.PASS
    for number in range(len(expected)):
        found = [np.array(one) for one in expected]
        found[number] += 64
        assert judge(program, inputs, expected, found, rule).verdict is not Verdict.PASS


def test_two_arrays_scattered_in_another_order_of_the_group() -> None:
    """Groups of replicas and partitions, replica by replica, in both of the operations."""
    values = (Value("x", tensor(F32, 4)), Value("y", tensor(F32, 8)))
    given: dict[str, Any] = {
        "scatter_dimension": 0, "shard_count": 4, "replica_groups": matrix([[0, 1]]),
        "channel_id": 1,
    }  # fmt: skip
    body = fold_of("add", F32).region
    program = single_op("ReduceScatter", values, (tensor(F32, 1), tensor(F32, 2)), given, (body,))
    program = replace(program, process_grid=(2, 2))
    inputs = tuple(np.arange(size, dtype=np.float32) * 10**n for n in range(4) for size in (4, 8))
    expected = evaluate(program, inputs)
    other = replace(program, functions=program.functions)
    main = other.main
    *_, end = main.body.operations
    said = given | {"replica_groups": matrix([[0, 1, 2, 3]]), "use_global_device_ids": True}
    subject = replace(program.subject, attributes=attributes(**said))
    body_ = replace(main.body, operations=(subject, end))
    other = replace(program, functions=(replace(main, body=body_),))
    taken = evaluate(other, inputs)
    rule = CATALOG["ReduceScatter"].tolerance
    found = judge(program, inputs, expected, taken, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, process_order.LABEL)


def test_several_operands_gathered_so_in_another_order_of_the_group() -> None:
    """The blocks of a group of replicas and partitions, replica by replica."""
    values = (Value("x", tensor(F32, 2, 1)), Value("y", tensor(F32, 2, 1)))
    given: dict[str, Any] = {
        "all_gather_dim": 1, "replica_groups": matrix([[0, 1]]), "channel_id": 1,
    }  # fmt: skip
    program = single_op("all_gather", values, (tensor(F32, 2, 4),) * 2, given)
    program = replace(program, process_grid=(2, 2))
    inputs = tuple(np.arange(2 * n, 2 * n + 2, dtype=np.float32).reshape(2, 1) for n in range(8))
    expected = evaluate(program, inputs)
    blocks = [np.concatenate(inputs[n::2]).reshape(2, 4) for n in range(2)] * 4
    found = judge(program, inputs, expected, blocks, CATALOG["all_gather"].tolerance)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, gathered_first.LABEL)


@pytest.mark.parametrize(
    ("groups", "label"),
    [
        (matrix([[0, 1]]), process_order.LABEL),
        (mesh_groups((MeshAxis("x", 2),), (AxisRef("x"),), (0, 1)), process_order.LABEL),
        (mesh_groups((MeshAxis("x", 2),), (AxisRef("x"),), (1, 0)), misread_groups.DEVICE_IDS),
    ],
)
def test_second_fault_beside_group_order_is_named(groups: Dense, label: str) -> None:
    """The parts go to processes in another order, and of a minimum NaN is left out.

    Where the device_ids of a mesh are ignored, that alone explains the NaN, but not the order.
    """
    given: dict[str, Any] = {"scatter_dimension": 0, "replica_groups": groups, "channel_id": 1}
    values, body = (Value("x", tensor(F32, 12)),), fold_of("minimum", F32).region
    program = single_op("reduce_scatter", values, (tensor(F32, 3),), given, (body,))
    program = replace(program, process_grid=(2, 2))
    rows = np.tile(np.float32([0, 1, 2, 3, 1, 2, 4, 1, 2, 5, 6, 7]), (4, 1))
    rows[1, [0, 1, 2, 9, 10, 11]] = np.nan  # the parts that are the same in both orders
    inputs = tuple(rows)
    expected = evaluate(program, inputs)
    plain = misread_groups.without_device_ids(program)
    assert (plain is None) == (label is process_order.LABEL)
    other = process_order.replica_by_replica(plain or program)
    assert other is not None
    moved = list(evaluate(other, inputs))
    rule = CATALOG["reduce_scatter"].tolerance
    found = judge(program, inputs, expected, moved, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, label)
    moved[0], moved[3] = rows[0, :3], rows[0, 9:]
    found = judge(program, inputs, expected, moved, rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "NaN left out")
    assert {one.kind for one in found.failing} == {"NaN left out"}
    assert label in found.message


def test_smallest_powers_are_flushed_beside_group_order() -> None:
    """In f32, 2^-127 is flushed to zero, which is NaN in f8E8M0FNU."""
    of = element_type("f8E8M0FNU")
    given: dict[str, Any] = {
        "scatter_dimension": 0, "replica_groups": matrix([[0, 1]]), "channel_id": 1,
    }  # fmt: skip
    values, body = (Value("x", tensor(of, 8)),), fold_of("minimum", of).region
    program = single_op("reduce_scatter", values, (tensor(of, 2),), given, (body,))
    program = replace(program, process_grid=(2, 2))
    inputs = tuple(
        np.arange(n, 8 * n + 8, n + 1, dtype=np.uint8).view(of.storage) for n in range(4)
    )
    other = process_order.replica_by_replica(program)
    assert other is not None
    moved = [np.array(one) for one in evaluate(other, inputs)]
    assert moved[0].view(np.uint8)[0] == 0
    moved[0].view(np.uint8)[0] = 255
    rule, expected = CATALOG["reduce_scatter"].tolerance, evaluate(program, inputs)
    found = judge(program, inputs, expected, moved, rule)
    assert {one.kind for one in found.failing} == {"flushed in f32"}
    assert process_order.LABEL in found.message
    moved[0].view(np.uint8)[1] = 255
    found = judge(program, inputs, expected, moved, rule)
    assert process_order.LABEL not in found.message


_MESH = (MeshAxis("x", 2), MeshAxis("y", 2))
_ORDER = (3, 0, 2, 1)


def _program_on_mesh(op: str, device_ids: tuple[int, ...] | None, **given: Any) -> Program:
    """Return a program of four replicas in groups along the first axis of a mesh."""
    groups = mesh_groups(_MESH, (AxisRef("x"),), device_ids)
    grid = (4, 2) if "channel_id" in given else (4, 1)
    size = 2 * grid[1]
    body = (fold_of("minimum", F32).region,) if op == "all_reduce" else ()
    result = tensor(F32, size) if op == "all_gather" else tensor(F32, 1)
    value = Value("x", tensor(F32, 1))
    said: dict[str, Any] = given | {"replica_groups": groups}
    return replace(single_op(op, (value,), (result,), said, body), process_grid=grid)


def _numbered_inputs(program: Program) -> tuple[Array, ...]:
    return tuple(np.array([n + 1], np.float32) for n in range(program.process_count))


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("all_gather", {"all_gather_dim": 0}),
        ("all_gather", {"all_gather_dim": 0, "channel_id": 1}),
        ("all_reduce", {}),
    ],
)
def test_device_ids_of_a_mesh_that_are_ignored(op: str, given: dict[str, Any]) -> None:
    """Across partitions too, where the group is in another order beside that or is not."""
    program, plain = (_program_on_mesh(op, ids, **given) for ids in (_ORDER, None))
    inputs = _numbered_inputs(program)
    expected, taken = evaluate(program, inputs), list(evaluate(plain, inputs))
    rule = CATALOG[op].tolerance
    other = process_order.replica_by_replica(plain)
    for actual in (taken, *([] if other is None else [list(evaluate(other, inputs))])):
        found = judge(program, inputs, expected, actual, rule)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, misread_groups.DEVICE_IDS)
        found = judge(program, inputs, expected, [actual[0] + 1, *actual[1:]], rule)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")
    assert judge(program, inputs, expected, expected, rule).verdict is Verdict.PASS


def test_a_mesh_in_its_natural_order_is_no_excuse() -> None:
    for ids in (None, (0, 1, 2, 3)):
        program = _program_on_mesh("all_gather", ids, all_gather_dim=0)
        inputs = _numbered_inputs(program)
        actual = list(evaluate(_program_on_mesh("all_gather", _ORDER, all_gather_dim=0), inputs))
        expected = evaluate(program, inputs)
        found = judge(program, inputs, expected, actual, CATALOG["all_gather"].tolerance)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


def test_operands_of_all_to_all_as_parts_in_groups_of_coordinates_have_a_class() -> None:
    values = (Value("x", tensor(F32, 4, 2)), Value("y", tensor(F32, 4, 2)))
    given: dict[str, Any] = {
        "split_dimension": 0, "concat_dimension": 0, "split_count": 2,
        "replica_groups": mesh_groups((MeshAxis("x", 2),), (AxisRef("x"),), (1, 0)),
    }  # fmt: skip
    program = single_op("all_to_all", values, (tensor(F32, 4, 2),) * 2, given)
    program = replace(program, process_grid=(2, 1))
    inputs = (X, Y, X + 20, Y + 20)
    expected = evaluate(program, inputs)
    found = judge(
        program, inputs, expected, [X, X + 20, Y, Y + 20], CATALOG["all_to_all"].tolerance
    )
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, operands_as_parts.LABEL)


IN_A_REDUCE = """
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<1xf64>) -> tensor<1xf64> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %1 = stablehlo.reshape %a : (tensor<f64>) -> tensor<1xf64>
      %2 = stablehlo.reshape %b : (tensor<f64>) -> tensor<1xf64>
      %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
      %4 = stablehlo.constant dense<LIMIT> : tensor<f64>
      %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.maximum across dimensions = [0]
          : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
      stablehlo.return %5 : tensor<f64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xf64>) -> tensor<1xf64>
    return %0 : tensor<1xf64>
  }
}
"""


@pytest.mark.parametrize(
    ("limit", "got", "kind"),
    [
        ("0xFFF0000000000000", -3.0, "NaN left out"),
        ("0xFFF0000000000000", -2.0, "NaN"),
        ("-1.0", -1.0, "NaN"),  # no extremum of these numbers alone
    ],
)
def test_an_extremum_that_is_taken_by_a_reduce_of_both_values(
    limit: str, got: float, kind: str
) -> None:
    program = parse_module(IN_A_REDUCE.replace("LIMIT", limit))
    inputs = (np.array([np.nan]), np.array([-3.0]))
    expected = evaluate(program, inputs)
    actual = [np.array([got])] * 2
    found = judge(program, inputs, expected, actual, CATALOG["all_reduce"].tolerance)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)

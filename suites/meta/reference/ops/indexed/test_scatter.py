"""Scatter: orders of its updates, unspecified results, and its rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.invalid.misses import program, tensor
from generators.regions.bodies import BodyBuilder, fold_of
from reference.interpreter.evaluate import body_of, check, evaluate
from reference.ir.monoid import MONOIDS
from reference.ir.program import Region
from reference.ir.types import element_type
from reference.numerics.alike import equal_elements
from reference.ops.indexed.scatter import (
    apply,
    group_updates,
    is_associative,
    overwriting_updates,
    positions,
)
from reference.ops.indexed.update_orders import (
    decompose_scatter,
    order_dependent_elements,
    unexplained_elements,
)
from suites.meta.support.counting import calls_of
from suites.meta.support.ops.gathering import (
    F16,
    F32,
    POINTS,
    SI8,
    SI32,
    judge_result,
    points,
    traced_case,
)


def overwrite(*of: Any) -> Region:
    block = BodyBuilder.of(*of, *of)
    return block.finish_region(*block.arguments[len(of) :])


def test_sums_of_many_updates_are_rounded_once() -> None:
    made = points(F16, 3, 3000, fold_of("add", F16).region)
    zero, ones = np.zeros(3, np.float16), np.ones(3000, np.float16)
    inputs = [zero, np.ones(3000, np.int32), ones]
    (result,) = evaluate(made, inputs)
    assert result.tolist() == [0, 3000, 0]  # one after the other, f16 stays at 2048
    assert judge_result(made, inputs, [np.array([0, 2048, 0], np.float16)])[0] is Verdict.PASS
    assert judge_result(made, inputs, [np.array([0, 2048, 1], np.float16)])[0] is Verdict.DIVERGENT


def test_exact_sums_are_judged_bit_for_bit() -> None:
    made = points(F32, 2, 4, fold_of("add", F32).region)
    inputs = [np.zeros(2, np.float32), np.zeros(4, np.int32), np.arange(4, dtype=np.float32)]
    assert judge_result(made, inputs, [np.array([6, 0], np.float32)])[0] is Verdict.PASS
    assert judge_result(made, inputs, [np.array([np.nextafter(np.float32(6), 7), 0], np.float32)])[
        0
    ] in (
        Verdict.DIVERGENT,
        Verdict.INACCURATE,
    )


def test_any_update_may_be_last_but_no_other_value() -> None:
    made = points(F32, 3, 3, overwrite(F32))
    inputs = [np.zeros(3, np.float32), np.array([1, 1, 2], np.int32), np.array([5, 6, 7], "f4")]
    assert evaluate(made, inputs)[0].tolist() == [0, 6, 7]
    other = np.array([0, 5, 7], np.float32)
    assert judge_result(made, inputs, [other]) == (Verdict.UNSPECIFIED, "order of the updates")
    wrong = np.array([0, 4, 7], np.float32)
    assert judge_result(made, inputs, [wrong]) == (Verdict.DIVERGENT, "no possible order")
    lost = np.array([0, 6, 0], np.float32)
    assert judge_result(made, inputs, [lost])[0] is Verdict.DIVERGENT


def test_equal_updates_are_specified() -> None:
    made = points(F32, 3, 2, overwrite(F32))
    inputs = [np.zeros(3, "f4"), np.array([1, 1], np.int32), np.array([5, 5], "f4")]
    assert judge_result(made, inputs, [np.array([0, 6, 0], "f4")])[0] is Verdict.DIVERGENT


def test_results_of_two_updates_are_not_mixed() -> None:
    body = overwrite(F32, SI32)
    types = {
        "x": tensor(F32, 2), "y": tensor(SI32, 2), "i": tensor(SI32, 2), "u": tensor(F32, 2),
        "v": tensor(SI32, 2),
    }  # fmt: skip
    results = (tensor(F32, 2), tensor(SI32, 2))
    made = program("scatter", types, results, (body,), **POINTS)
    inputs = [
        np.zeros(2, np.float32), np.zeros(2, np.int32), np.zeros(2, np.int32),
        np.array([1, 2], np.float32), np.array([10, 20], np.int32),
    ]  # fmt: skip
    first = [np.array([1, 0], np.float32), np.array([10, 0], np.int32)]
    assert judge_result(made, inputs, first)[0] is Verdict.UNSPECIFIED
    mixed = [np.array([1, 0], np.float32), np.array([20, 0], np.int32)]
    assert judge_result(made, inputs, mixed) == (Verdict.DIVERGENT, "no possible order")


def test_orders_of_a_body_that_is_not_commutative_are_tried() -> None:
    block = BodyBuilder.of(SI32, SI32)
    x, u = block.arguments
    body = block.finish_region(block.op("add", block.op("multiply", x, u), u))
    made = points(SI32, 2, 3, body)
    inputs = [np.array([1, 1], np.int32), np.array([0, 0, 0], np.int32), np.array([2, 3, 5], "i4")]
    outcomes = {
        ((((1 * a + a) * b + b) * c) + c)
        for a, b, c in ((2, 3, 5), (2, 5, 3), (3, 2, 5), (3, 5, 2), (5, 2, 3), (5, 3, 2))
    }
    assert evaluate(made, inputs)[0].tolist() == [(4 * 3 + 3) * 5 + 5, 1]
    for outcome in range(min(outcomes) - 1, max(outcomes) + 2):
        verdict = judge_result(made, inputs, [np.array([outcome, 1], np.int32)])[0]
        assert verdict.fails == (outcome not in outcomes)


def test_broken_uniqueness_promise_makes_results_unspecified() -> None:
    twice = [np.zeros(3, np.float32), np.array([1, 1], np.int32), np.array([5, 6], np.float32)]
    made = points(F32, 3, 2, fold_of("add", F32).region, unique_indices=True)
    wrong = [np.full(3, 9, np.float32)]
    assert judge_result(made, twice, wrong) == (Verdict.UNSPECIFIED, "indices said to be unique")
    apart = [twice[0], np.array([2, 1], np.int32), twice[2]]
    assert judge_result(made, apart, wrong)[0] is Verdict.DIVERGENT
    made = points(F32, 3, 2, fold_of("add", F32).region, indices_are_sorted=True)
    assert judge_result(made, apart, wrong) == (Verdict.UNSPECIFIED, "indices said to be sorted")
    assert judge_result(made, twice, wrong)[0] is Verdict.DIVERGENT


def test_windows_out_of_bounds_in_part_are_written_in_part() -> None:
    types = {"x": tensor(SI32, 4), "i": tensor(SI32, 1, 1), "u": tensor(SI32, 1, 3)}
    given = POINTS | {"update_window_dims": (1,), "inserted_window_dims": ()}
    made = program("scatter", types, (tensor(SI32, 4),), (overwrite(SI32),), **given)
    inputs = [np.zeros(4, np.int32), np.array([[2]], np.int32), np.array([[7, 8, 9]], np.int32)]
    assert evaluate(made, inputs)[0].tolist() == [0, 0, 7, 8]
    assert judge_result(made, inputs, [np.zeros(4, np.int32)]) == (Verdict.DIVERGENT, "wrong value")
    inputs[1] = np.array([[-1]], np.int32)
    assert evaluate(made, inputs)[0].tolist() == [8, 9, 0, 0]


def test_last_index_of_a_narrow_type_is_in_bounds() -> None:
    made = points(F32, 129, 1, overwrite(F32), index=SI8)
    inputs = [np.zeros(129, np.float32), np.array([127], np.int8), np.array([5], np.float32)]
    assert evaluate(made, inputs)[0][127] == 5
    assert judge_result(made, inputs, [np.zeros(129, np.float32)]) == (
        Verdict.DIVERGENT,
        "wrong value",
    )


def test_window_of_an_unsigned_index_out_of_bounds_is_dropped() -> None:
    types = {"x": tensor(SI32, 1, 3), "i": tensor(element_type("ui64"), 2), "u": tensor(SI32, 1, 1)}
    given = POINTS | {"update_window_dims": (0, 1), "inserted_window_dims": ()}
    given |= {"scatter_dims_to_operand_dims": (0, 1), "index_vector_dim": 0}
    made = program("scatter", types, (tensor(SI32, 1, 3),), (overwrite(SI32),), **given)
    index = np.full(2, 2**64 - 1000, np.uint64)
    inputs = [np.array([[1, 2, 3]], np.int32), index, np.array([[77]], np.int32)]
    assert evaluate(made, inputs)[0].tolist() == [[1, 2, 3]]
    assert judge_result(made, inputs, [np.array([[1, 2, 1]], "i4")]) == (
        Verdict.DIVERGENT,
        "wrong value",
    )


def test_updates_without_indices_apply_to_one_element() -> None:
    types = {"x": tensor(SI32, 3), "i": tensor(SI32, 0, 2), "u": tensor(SI32, 2)}
    given = POINTS | {"scatter_dims_to_operand_dims": (), "index_vector_dim": 0}
    made = program("scatter", types, (tensor(SI32, 3),), (fold_of("add", SI32).region,), **given)
    inputs = [np.array([5, 6, 7], "i4"), np.zeros((0, 2), np.int32), np.array([1, 2], "i4")]
    assert evaluate(made, inputs)[0].tolist() == [8, 6, 7]
    last = [np.array([7, 6, 7], np.int32)]
    assert judge_result(made, inputs, last)[0] is Verdict.DIVERGENT
    block = BodyBuilder.of(SI32, SI32)
    less = block.finish_region(block.op("subtract", *block.arguments))  # in any order the same
    made = program("scatter", types, (tensor(SI32, 3),), (less,), **given)
    last = [np.array([3, 6, 7], np.int32)]
    assert judge_result(made, inputs, last)[0] is Verdict.DIVERGENT
    types = {"x": tensor(F32, 3), "i": tensor(SI32, 0, 2), "u": tensor(F32, 2)}
    made = program("scatter", types, (tensor(F32, 3),), (fold_of("add", F32).region,), **given)
    inputs = [one if n == 1 else one.astype(np.float32) for n, one in enumerate(inputs)]
    for first in (7.0, 8.001):
        got = [np.array([first, 6, 7], "f4")]
        assert judge_result(made, inputs, got)[0] is Verdict.DIVERGENT
    assert judge_result(made, inputs, evaluate(made, inputs))[0] is Verdict.PASS


def test_a_wider_computation_gives_its_type() -> None:
    body = fold_of("add", F16, F32).region
    types = {"x": tensor(F16, 2), "i": tensor(SI32, 2), "u": tensor(F16, 2)}
    made = program("scatter", types, (tensor(F32, 2),), (body,), **POINTS)
    assert check(made) == []
    one = np.float16(2048)
    (result,) = evaluate(made, [np.full(2, one), np.zeros(2, np.int32), np.ones(2, np.float16)])
    assert (result.dtype, result.tolist()) == (np.float32, [2050, 2048])


def test_overflow_that_depends_on_the_order_is_unspecified() -> None:
    made = points(F32, 1, 3, fold_of("add", F32).region)
    big = np.float32(3e38)
    inputs = [np.zeros(1, "f4"), np.zeros(3, np.int32), np.array([big, big, -big], "f4")]
    assert judge_result(made, inputs, [np.array([np.inf], "f4")])[0] is Verdict.UNSPECIFIED
    inputs[2] = np.array([big, -big, 1], "f4")
    assert judge_result(made, inputs, [np.array([np.inf], "f4")])[0] is Verdict.DIVERGENT


@pytest.mark.slow
def test_contested_and_impossible_elements_are_consistent() -> None:
    """No outcome that some order gives is impossible, and where nothing is contested the
    reference's own outcome is the only outcome.
    """
    seen = 0
    for case in cases("scatter", SI32, seed=5, count=200):
        operation, operands, results = traced_case(case, 0)
        parts = decompose_scatter(operation, operands, body_of(operation.regions[0]))
        assert not unexplained_elements(parts, results).any()
        for index, result in enumerate(results):
            open_ = order_dependent_elements(parts, index)
            for count in (2, 3):
                for targets, other in parts.outcomes(count):
                    same = equal_elements(other[index], result.reshape(-1)[targets])
                    assert (same | open_[targets]).all()
                    seen += len(targets)
    assert seen > 50


@pytest.mark.parametrize("kind", ["add", "maximum", "overwrite", "capped"])
def test_many_updates_are_not_made_one_by_one(kind: str) -> None:
    count = 1 << 18
    rng = np.random.default_rng(0)
    if kind == "overwrite":
        body = overwrite(F32)
    elif kind == "capped":
        block = BodyBuilder.of(F32, F32)
        total = block.op("add", *block.arguments)
        body = block.finish_region(block.op("minimum", total, block.constant(50, F32)))
    else:
        body = fold_of(kind, F32).region
    made = points(F32, count, count, body)
    inputs = [
        np.zeros(count, np.float32), rng.integers(0, count, count).astype(np.int32),
        rng.integers(0, 9, count).astype(np.float32),
    ]  # fmt: skip
    (result,) = evaluate(made, inputs)
    assert calls_of(lambda: evaluate(made, inputs)) < 1000
    assert result.shape == (count,)


# --- Updates of one array ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "position"), [([0, 0], 0), ([1, 2], 5), ([2, 0], -1), ([0, 3], -1), ([-1, 0], -1)]
)
def test_positions_are_row_major_and_minus_one_out_of_bounds(
    index: list[int], position: int
) -> None:
    found = positions(
        (2, 3), np.array([index]), (1,), update_window_dims=(), inserted_window_dims=(0, 1),
        scatter_dims_to_operand_dims=(0, 1), index_vector_dim=1,
    )  # fmt: skip
    assert found.tolist() == [position]


def test_elements_of_a_window_are_out_of_bounds_one_by_one() -> None:
    found = positions(
        (4,), np.array([[2]]), (1, 3), update_window_dims=(1,), inserted_window_dims=(),
        scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
    )  # fmt: skip
    assert found.tolist() == [[2, 3, -1]]


def test_updates_are_grouped_by_target_in_their_order() -> None:
    groups = group_updates(np.array([3, 1, 3, 3]))
    assert groups.order.tolist() == [1, 0, 2, 3]
    assert groups.targets.tolist() == [1, 3, 3, 3]
    assert groups.rank.tolist() == [0, 0, 1, 2]
    assert groups.max_updates == 3
    assert group_updates(np.array([], np.int64)).max_updates == 0


def test_a_computation_that_returns_updates_overwrites() -> None:
    block = BodyBuilder.of(F32, F32, F32, F32)
    _, _, c, d = block.arguments
    assert overwriting_updates(block.finish_region(d, c)) == (1, 0)
    block = BodyBuilder.of(F32, F32)
    assert overwriting_updates(block.finish_region(block.arguments[0])) is None
    assert overwriting_updates(fold_of("add", F32).region) is None


def test_only_sums_and_products_of_floats_depend_on_grouping() -> None:
    assert is_associative(MONOIDS["add"], element_type("si32"))
    assert is_associative(MONOIDS["maximum"], F32)
    assert not is_associative(MONOIDS["add"], F32)
    assert not is_associative(None, element_type("si32"))


@pytest.mark.parametrize(
    ("op", "of", "result"),
    [("add", "si32", [10, 6]), ("subtract", "si32", [10, -6]), ("add", "f32", [10, 6])],
)
def test_updates_of_one_element_are_applied_in_order(op: str, of: str, result: list[int]) -> None:
    element = element_type(of)
    block = BodyBuilder.of(element, element)
    body = body_of(block.finish_region(block.op(op, *block.arguments)))
    flat = [np.array([10, 0]).astype(element.storage)]
    apply(flat, np.array([1, 1, 1]), [np.array([1, 2, 3]).astype(element.storage)], body)
    assert flat[0].tolist() == result


def test_a_sum_of_updates_is_rounded_once() -> None:
    half = element_type("f16")
    flat, given = [np.array([2048], np.float16)], [np.array([1, 1], np.float16)]
    apply(flat, np.array([0, 0]), given, body_of(fold_of("add", half).region))
    assert flat[0].tolist() == [2050]

"""Gather and scatter: against the specification's formulas, element by element, and their rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.gathering import GATHERED, SCATTERED_UPDATES
from conformance.tolerance.models.out_of_bounds import BOUND, WINDOW
from conformance.tolerance.rules import DATA
from conformance.verdict import Verdict
from generators.case.case import Case
from generators.cells.plan import cases
from generators.invalid.misses import program, tensor
from generators.regions.bodies import Block, fold_of
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, body_of, check, evaluate
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value, single_op
from reference.ir.regions import closed
from reference.ir.types import ELEMENT_TYPES, Array, to_bits
from reference.ops.indexed.gather import torch_index_select
from reference.ops.indexed.gathering import gather_type, scatter_type
from reference.ops.indexed.indexing import wide_indices
from reference.ops.indexed.update_orders import alike, contested, impossible, taken_apart
from reference.ops.table import OPS
from reference.unspecified.table import unspecified
from suites.meta.support.counting import calls_of

F32, F64, F16, SI32, SI64, SI8, UI8, SI4, I1, C64 = (
    ELEMENT_TYPES[name]
    for name in ("f32", "f64", "f16", "si32", "si64", "si8", "ui8", "si4", "i1", "complex<f32>")
)
NAN = float("nan")
SAMPLED = [ELEMENT_TYPES[name] for name in ("si32", "f32", "i1", "si4", "f8E4M3FN", "complex<f64>")]


def traced(case: Case, number: int) -> tuple[Operation, list[Array], tuple[Array, ...]]:
    """The operation of a case, its operands and its results on an input set."""
    inputs = materialise(case.program, case.inputs[number])
    known = {v.name: a for v, a in zip(case.program.main.arguments, inputs, strict=True)}
    operations = case.program.main.body.operations
    for operation in operations[:-2]:
        value = operation.attribute("value")
        assert isinstance(value, Dense)
        known[operation.results[0].name] = value.array
    operands = [known[v.name] for v in operations[-2].operands]
    return closed(operations[-2], known), operands, evaluate(case.program, inputs)


# --- The specification's formulas ----------------------------------------------------------------


def start_of(indices: Array, batch: tuple[int, ...], vector_dim: int) -> list[int]:
    if vector_dim == indices.ndim:
        return [int(indices[batch])]
    chosen = indices[(*batch[:vector_dim], slice(None), *batch[vector_dim:])]
    return [int(index) for index in chosen]


def gathered(operand: Array, indices: Array, sizes: tuple[int, ...], shape: Any, a: Any) -> Array:
    """`result[result_index] = operand[operand_index]`, as the specification says it."""
    result = np.zeros(shape, operand.dtype)
    vector_dim = a["index_vector_dim"]
    batch_dims = [d for d in range(result.ndim) if d not in a["offset_dims"]]
    batching = a.get("operand_batching_dims", ())
    paired = a.get("start_indices_batching_dims", ())
    kept = [d for d in range(operand.ndim) if d not in (*a["collapsed_slice_dims"], *batching)]
    for index in np.ndindex(*shape):
        batch = tuple(index[d] for d in batch_dims)
        start = start_of(indices, batch, vector_dim)
        at = [0] * operand.ndim
        for k, d in enumerate(a["start_index_map"]):
            at[d] += min(max(start[k], 0), operand.shape[d] - sizes[d])
        for d, p in zip(batching, paired, strict=True):
            at[d] += batch[p - (0 if p < vector_dim else 1)]
        for d, axis in zip(kept, a["offset_dims"], strict=True):
            at[d] += index[axis]
        result[index] = operand[tuple(at)]
    return result


@pytest.mark.parametrize("op", ["gather", "dynamic_gather"])
@pytest.mark.parametrize("of", SAMPLED, ids=str)
def test_gather_is_the_formula(op: str, of: Any) -> None:
    for case in cases(op, of, seed=1, count=12):
        operation, operands, (result,) = traced(case, 0)
        if result.size > 300:
            continue
        a: dict[str, Any] = dict(operation.attributes)
        sizes = a["slice_sizes"] if op == "gather" else tuple(int(n) for n in operands[2])
        want = gathered(operands[0], operands[1], sizes, result.shape, a)
        assert np.array_equal(to_bits(result), to_bits(want)), operation


def updates_in_order(
    shape: tuple[int, ...], indices: Array, updates: tuple[int, ...], a: Any
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every update index with its result index, where that is in bounds."""
    vector_dim, window = a["index_vector_dim"], a["update_window_dims"]
    scatter_dims = [d for d in range(len(updates)) if d not in window]
    dropped = (*a["inserted_window_dims"], *a["input_batching_dims"])
    kept = [d for d in range(len(shape)) if d not in dropped]
    for index in np.ndindex(*updates):
        batch = tuple(index[d] for d in scatter_dims)
        start = start_of(indices, batch, vector_dim)
        at = [0] * len(shape)
        for k, d in enumerate(a["scatter_dims_to_operand_dims"]):
            at[d] += start[k]
        pairs = zip(a["input_batching_dims"], a["scatter_indices_batching_dims"], strict=True)
        for d, p in pairs:
            at[d] += batch[p - (0 if p < vector_dim else 1)]
        for d, axis in zip(kept, window, strict=True):
            at[d] += index[axis]
        if all(0 <= i < n for i, n in zip(at, shape, strict=True)):
            yield index, tuple(at)


def scattered(operation: Operation, operands: list[Array], results: Any) -> list[Array]:
    """`exec(schedule, inputs)` with the updates in row-major order, one at a time."""
    count, body = len(operands) // 2, body_of(operation.regions[0])
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    now = [x.astype(r.dtype) for x, r in zip(inputs, results, strict=True)]
    given = [x.astype(r.dtype) for x, r in zip(updates, results, strict=True)]
    a: dict[str, Any] = dict(operation.attributes)
    for index, at in updates_in_order(inputs[0].shape, indices, updates[0].shape, a):
        old = (np.asarray(x[at]) for x in now)
        for x, new in zip(now, body(*old, *(np.asarray(u[index]) for u in given)), strict=True):
            x[at] = new
    return now


@pytest.mark.parametrize("of", SAMPLED, ids=str)
def test_scatter_is_the_formula(of: Any) -> None:
    for case in cases("scatter", of, seed=2, count=14):
        operation, operands, results = traced(case, 0)
        if operands[-1].size > 150:
            continue
        want = scattered(operation, operands, results)
        judged = judge(
            case.program, materialise(case.program, case.inputs[0]), results, want,
            SCATTERED_UPDATES,
        )  # fmt: skip
        assert not judged.verdict.fails, (operation, judged.message)
        if not of.is_float and not of.is_complex:
            for one, other in zip(results, want, strict=True):
                assert np.array_equal(to_bits(one), to_bits(other)), operation


@pytest.mark.parametrize("op", ["gather", "dynamic_gather", "scatter", "torch_index_select"])
def test_cases_reach_attributes_and_edges(op: str) -> None:
    found: set[str] = set()
    for case in cases(op, F32, seed=3, count=250):
        operation = case.program.main.body.operations[-2]
        a: dict[str, Any] = dict(operation.attributes)
        types = [v.type for v in operation.operands if isinstance(v.type, TensorType)]
        index = types[len(types) // 2 if op == "scatter" else 1]
        found |= {index.element.name, f"rank {types[0].rank}"}
        found |= {name for name, value in a.items() if value not in ((), 0, False)}
        if a.get("index_vector_dim") == index.rank:
            found.add("implicit")
        found |= {"empty"} if any(0 in of.static_shape for of in types) else set[str]()
        found |= {"constant"} if len(case.program.main.arguments) < len(types) else set[str]()
    assert found >= {"si32", "si64", "ui8", "ui32", "rank 1", "rank 3", "constant", "empty"}
    attributes = set(OPS[op].attributes) - {"operand_batching_dims", "start_indices_batching_dims"}
    if op == "gather":
        attributes = set(OPS[op].attributes)
    assert found >= attributes
    if op != "torch_index_select":
        assert "implicit" in found


# --- Indices -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["si2", "ui2", "si4", "ui4", "si8", "ui8", "si16", "ui64", "si64"])
def test_indices_of_every_type_have_their_values(name: str) -> None:
    of = ELEMENT_TYPES[name]
    extremes = [of.min_integer, 0, 1, of.max_integer]
    wide = wide_indices(np.array(extremes, object).astype(of.storage))
    capped = [min(max(n, -(1 << 62)), 1 << 62) for n in extremes]
    assert wide.dtype == np.int64
    assert wide.tolist() == capped


ROW: dict[str, Any] = {
    "offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,),
    "index_vector_dim": 1, "slice_sizes": (1, 2),
}  # fmt: skip


def test_gather_moves_slices_into_range_and_reads_ui8_above_127() -> None:
    operand = np.arange(600, dtype=np.float32).reshape(300, 2)
    rows = np.array([0, 127, 128, 200, 255], np.uint8)
    result = OPS["gather"].evaluate(operand, rows, **ROW)
    assert result[:, 0].tolist() == [0, 254, 256, 400, 510]
    rows = np.array([-1, 299, 300, np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    result = OPS["gather"].evaluate(operand, rows, **ROW)
    assert result[:, 0].tolist() == [0, 598, 598, 598, 0]
    rows = np.array([np.iinfo(np.uint64).max, 1], np.uint64)
    assert OPS["gather"].evaluate(operand, rows, **ROW)[:, 0].tolist() == [598, 2]


def test_torch_index_select_takes_batches() -> None:
    operand = np.arange(24).reshape(2, 3, 4)
    index = np.array([[0, 3], [2, 2]], np.int32)
    result = torch_index_select(operand, index, dim=2, batch_dims=1)
    assert result.tolist() == [operand[0][:, [0, 3]].tolist(), operand[1][:, [2, 2]].tolist()]
    whole = torch_index_select(operand, index, dim=1, batch_dims=0)
    assert whole.shape == (2, 2, 2, 4)
    assert whole[1, 1, 0].tolist() == operand[1, 2].tolist()


# --- Scatter -------------------------------------------------------------------------------------

POINTS: dict[str, Any] = {
    "update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": (),
}  # fmt: skip


def overwrite(*of: Any) -> Region:
    block = Block.of(*of, *of)
    return block.returns(*block.arguments[len(of) :])


def points(of: Any, size: int, count: int, body: Region, index: Any = SI32, **more: Any) -> Program:
    types = {"x": tensor(of, size), "i": tensor(index, count), "u": tensor(of, count)}
    return program("scatter", types, (tensor(of, size),), (body,), **(POINTS | more))


def judged(made: Program, inputs: list[Array], actual: list[Array]) -> tuple[Verdict, str]:
    found = judge(made, inputs, evaluate(made, inputs), actual, SCATTERED_UPDATES)
    return found.verdict, found.kind


def test_sums_of_many_updates_are_rounded_once() -> None:
    made = points(F16, 3, 3000, fold_of("add", F16).region)
    zero, ones = np.zeros(3, np.float16), np.ones(3000, np.float16)
    inputs = [zero, np.ones(3000, np.int32), ones]
    (result,) = evaluate(made, inputs)
    assert result.tolist() == [0, 3000, 0]  # one after the other, f16 stays at 2048
    assert judged(made, inputs, [np.array([0, 2048, 0], np.float16)])[0] is Verdict.PASS
    assert judged(made, inputs, [np.array([0, 2048, 1], np.float16)])[0] is Verdict.DIVERGENT


def test_exact_sums_are_judged_bit_for_bit() -> None:
    made = points(F32, 2, 4, fold_of("add", F32).region)
    inputs = [np.zeros(2, np.float32), np.zeros(4, np.int32), np.arange(4, dtype=np.float32)]
    assert judged(made, inputs, [np.array([6, 0], np.float32)])[0] is Verdict.PASS
    assert judged(made, inputs, [np.array([np.nextafter(np.float32(6), 7), 0], np.float32)])[0] in (
        Verdict.DIVERGENT,
        Verdict.INACCURATE,
    )


def test_any_order_may_come_last_but_nothing_else() -> None:
    made = points(F32, 3, 3, overwrite(F32))
    inputs = [np.zeros(3, np.float32), np.array([1, 1, 2], np.int32), np.array([5, 6, 7], "f4")]
    assert evaluate(made, inputs)[0].tolist() == [0, 6, 7]
    other = np.array([0, 5, 7], np.float32)
    assert judged(made, inputs, [other]) == (Verdict.UNSPECIFIED, "order of the updates")
    wrong = np.array([0, 4, 7], np.float32)
    assert judged(made, inputs, [wrong]) == (Verdict.DIVERGENT, "no order of the updates")
    lost = np.array([0, 6, 0], np.float32)
    assert judged(made, inputs, [lost])[0] is Verdict.DIVERGENT


def test_equal_updates_leave_nothing_open() -> None:
    made = points(F32, 3, 2, overwrite(F32))
    inputs = [np.zeros(3, "f4"), np.array([1, 1], np.int32), np.array([5, 5], "f4")]
    assert judged(made, inputs, [np.array([0, 6, 0], "f4")])[0] is Verdict.DIVERGENT


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
    assert judged(made, inputs, first)[0] is Verdict.UNSPECIFIED
    mixed = [np.array([1, 0], np.float32), np.array([20, 0], np.int32)]
    assert judged(made, inputs, mixed) == (Verdict.DIVERGENT, "no order of the updates")


def test_orders_of_a_body_that_is_not_commutative_are_tried() -> None:
    block = Block.of(SI32, SI32)
    x, u = block.arguments
    body = block.returns(block.op("add", block.op("multiply", x, u), u))
    made = points(SI32, 2, 3, body)
    inputs = [np.array([1, 1], np.int32), np.array([0, 0, 0], np.int32), np.array([2, 3, 5], "i4")]
    outcomes = {
        ((((1 * a + a) * b + b) * c) + c)
        for a, b, c in ((2, 3, 5), (2, 5, 3), (3, 2, 5), (3, 5, 2), (5, 2, 3), (5, 3, 2))
    }
    assert evaluate(made, inputs)[0].tolist() == [(4 * 3 + 3) * 5 + 5, 1]
    for outcome in range(min(outcomes) - 1, max(outcomes) + 2):
        verdict = judged(made, inputs, [np.array([outcome, 1], np.int32)])[0]
        assert verdict.fails == (outcome not in outcomes)


def test_promises_that_are_broken_leave_everything_open() -> None:
    twice = [np.zeros(3, np.float32), np.array([1, 1], np.int32), np.array([5, 6], np.float32)]
    made = points(F32, 3, 2, fold_of("add", F32).region, unique_indices=True)
    wrong = [np.full(3, 9, np.float32)]
    assert judged(made, twice, wrong) == (Verdict.UNSPECIFIED, "indices said to be unique")
    apart = [twice[0], np.array([2, 1], np.int32), twice[2]]
    assert judged(made, apart, wrong)[0] is Verdict.DIVERGENT
    made = points(F32, 3, 2, fold_of("add", F32).region, indices_are_sorted=True)
    assert judged(made, apart, wrong) == (Verdict.UNSPECIFIED, "indices said to be sorted")
    assert judged(made, twice, wrong)[0] is Verdict.DIVERGENT


def test_windows_out_of_bounds_in_part_are_written_in_part() -> None:
    types = {"x": tensor(SI32, 4), "i": tensor(SI32, 1, 1), "u": tensor(SI32, 1, 3)}
    given = POINTS | {"update_window_dims": (1,), "inserted_window_dims": ()}
    made = program("scatter", types, (tensor(SI32, 4),), (overwrite(SI32),), **given)
    inputs = [np.zeros(4, np.int32), np.array([[2]], np.int32), np.array([[7, 8, 9]], np.int32)]
    assert evaluate(made, inputs)[0].tolist() == [0, 0, 7, 8]
    assert judged(made, inputs, [np.zeros(4, np.int32)]) == (Verdict.DIVERGENT, WINDOW)
    inputs[1] = np.array([[-1]], np.int32)
    assert evaluate(made, inputs)[0].tolist() == [8, 9, 0, 0]


def test_bounds_in_a_narrow_index_type_are_named() -> None:
    made = points(F32, 129, 1, overwrite(F32), index=SI8)
    inputs = [np.zeros(129, np.float32), np.array([127], np.int8), np.array([5], np.float32)]
    assert evaluate(made, inputs)[0][127] == 5
    assert judged(made, inputs, [np.zeros(129, np.float32)]) == (Verdict.DIVERGENT, BOUND)


def test_updates_without_indices_all_go_to_one_place() -> None:
    types = {"x": tensor(SI32, 3), "i": tensor(SI32, 0, 2), "u": tensor(SI32, 2)}
    given = POINTS | {"scatter_dims_to_operand_dims": (), "index_vector_dim": 0}
    made = program("scatter", types, (tensor(SI32, 3),), (fold_of("add", SI32).region,), **given)
    inputs = [np.array([5, 6, 7], "i4"), np.zeros((0, 2), np.int32), np.array([1, 2], "i4")]
    assert evaluate(made, inputs)[0].tolist() == [8, 6, 7]
    last = [np.array([7, 6, 7], np.int32)]
    assert judged(made, inputs, last) == (Verdict.DIVERGENT, "index vectors of no components")
    block = Block.of(SI32, SI32)
    less = block.returns(block.op("subtract", *block.arguments))  # in any order the same
    made = program("scatter", types, (tensor(SI32, 3),), (less,), **given)
    last = [np.array([3, 6, 7], np.int32)]
    assert judged(made, inputs, last) == (Verdict.DIVERGENT, "index vectors of no components")
    types = {"x": tensor(F32, 3), "i": tensor(SI32, 0, 2), "u": tensor(F32, 2)}
    made = program("scatter", types, (tensor(F32, 3),), (fold_of("add", F32).region,), **given)
    inputs = [one if n == 1 else one.astype(np.float32) for n, one in enumerate(inputs)]
    for actual in ([7.0, 6, 7], [8.001, 6, 7]):
        found = judged(made, inputs, [np.array(actual, np.float32)])
        assert found == (Verdict.DIVERGENT, "index vectors of no components")
    assert judged(made, inputs, evaluate(made, inputs))[0] is Verdict.PASS


def test_a_wider_computation_gives_its_type() -> None:
    body = fold_of("add", F16, F32).region
    types = {"x": tensor(F16, 2), "i": tensor(SI32, 2), "u": tensor(F16, 2)}
    made = program("scatter", types, (tensor(F32, 2),), (body,), **POINTS)
    assert check(made) == []
    one = np.float16(2048)
    (result,) = evaluate(made, [np.full(2, one), np.zeros(2, np.int32), np.ones(2, np.float16)])
    assert (result.dtype, result.tolist()) == (np.float32, [2050, 2048])


def test_overflow_by_the_order_is_open() -> None:
    made = points(F32, 1, 3, fold_of("add", F32).region)
    big = np.float32(3e38)
    inputs = [np.zeros(1, "f4"), np.zeros(3, np.int32), np.array([big, big, -big], "f4")]
    assert judged(made, inputs, [np.array([np.inf], "f4")])[0] is Verdict.UNSPECIFIED
    inputs[2] = np.array([big, -big, 1], "f4")
    assert judged(made, inputs, [np.array([np.inf], "f4")])[0] is Verdict.DIVERGENT


def test_what_is_contested_and_impossible_agree() -> None:
    """No outcome that some order gives is impossible, and where nothing is contested the
    reference's own is the only one."""
    for case in cases("scatter", SI32, seed=5, count=30):
        operation, operands, results = traced(case, 0)
        parts = taken_apart(operation, operands, body_of(operation.regions[0]))
        assert not impossible(parts, results).any()
        for number, result in enumerate(results):
            open_ = contested(parts, number)
            for count in (2, 3):
                for targets, other in parts.outcomes(count):
                    same = alike(other[number], result.reshape(-1)[targets])
                    assert (same | open_[targets]).all()


@pytest.mark.parametrize("kind", ["add", "maximum", "overwrite", "capped"])
def test_many_updates_are_not_made_one_by_one(kind: str) -> None:
    count = 1 << 18
    rng = np.random.default_rng(0)
    if kind == "overwrite":
        body = overwrite(F32)
    elif kind == "capped":
        block = Block.of(F32, F32)
        total = block.op("add", *block.arguments)
        body = block.returns(block.op("minimum", total, block.constant(50, F32)))
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


# --- Gather and its rule -------------------------------------------------------------------------


def test_unsorted_indices_said_to_be_sorted() -> None:
    types = {"x": tensor(F32, 4), "i": tensor(SI32, 3)}
    given: dict[str, Any] = {
        "offset_dims": (), "collapsed_slice_dims": (0,), "start_index_map": (0,),
        "index_vector_dim": 1, "slice_sizes": (1,), "indices_are_sorted": True,
    }  # fmt: skip
    made = program("gather", types, (tensor(F32, 3),), **given)
    x = np.arange(4, dtype=np.float32)
    for indices, verdict in (([2, 1, 0], Verdict.UNSPECIFIED), ([0, 1, 9], Verdict.DIVERGENT)):
        inputs = [x, np.array(indices, np.int32)]
        wrong = [np.full(3, 9, np.float32)]
        assert judge(made, inputs, evaluate(made, inputs), wrong, DATA).verdict is verdict


def test_unsigned_indices_taken_for_signed_ones_are_named() -> None:
    types = {"x": tensor(F32, 300, 2), "i": tensor(UI8, 2)}
    made = program("gather", types, (tensor(F32, 2, 2),), **ROW)
    inputs = [np.arange(600, dtype=np.float32).reshape(300, 2), np.array([200, 3], np.uint8)]
    wrong = evaluate(made, inputs)[0].copy()
    wrong[0] = [0, 1]
    found = judge(made, inputs, evaluate(made, inputs), [wrong], GATHERED)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "unsigned index taken for signed")


def test_parts_that_are_nan_do_not_hide_those_that_are_not() -> None:
    made = points(C64, 1, 3, fold_of("add", C64).region)
    given = np.array([complex(0.1, NAN), complex(0.2, 1), complex(0.3, 2)], np.complex64)
    inputs = [np.zeros(1, np.complex64), np.zeros(3, np.int32), given]
    near = np.array([complex(np.nextafter(np.float32(0.6), 1), NAN)], np.complex64)
    assert judged(made, inputs, [near])[0] is Verdict.PASS
    far = np.array([complex(0.7, NAN)], np.complex64)
    assert judged(made, inputs, [far])[0].fails


def test_an_empty_slice_that_leaves_elements_is_open() -> None:
    types = {"x": tensor(F32, 0), "i": tensor(SI32, 3)}
    given: dict[str, Any] = {
        "offset_dims": (), "collapsed_slice_dims": (0,), "start_index_map": (0,),
        "index_vector_dim": 1, "slice_sizes": (0,),
    }  # fmt: skip
    made = program("gather", types, (tensor(F32, 3),), **given)
    assert check(made) == []
    inputs = [np.zeros(0, np.float32), np.zeros(3, np.int32)]
    (result,) = evaluate(made, inputs)
    assert result.tolist() == [0, 0, 0]
    (open_,) = unspecified(made.main.body.operations[-2], inputs, result)
    assert open_[0] == "element of an empty slice"


def test_slice_sizes_of_a_dynamic_gather_are_checked() -> None:
    types = {"x": tensor(F32, 4, 3), "i": tensor(SI32, 2), "s": tensor(SI64, 2)}
    given: dict[str, Any] = {
        "offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,),
        "index_vector_dim": 1,
    }  # fmt: skip
    made = program("dynamic_gather", types, (tensor(F32, 2, 2),), **given)
    x, i = np.zeros((4, 3), np.float32), np.zeros(2, np.int32)
    assert evaluate(made, [x, i, np.array([1, 2])])[0].shape == (2, 2)
    for sizes, id_ in (([2, 2], "C8"), ([1, -1], "C12"), ([1, 4], "C12"), ([1, 3], "C13")):
        with pytest.raises(EvaluationError, match=id_):
            evaluate(made, [x, i, np.array(sizes)])


# --- Types ---------------------------------------------------------------------------------------


def test_types_are_inferred() -> None:
    result = gather_type(tensor(F32, 8, 5), tensor(SI32, None, 1), **ROW)
    assert result == TensorType((None, 2), F32)
    body = fold_of("add", F16, F32).region
    types = scatter_type(
        (tensor(F16, 3),), tensor(SI32, 2), (tensor(F16, 2),), update_computation=body, **POINTS
    )
    assert types == (tensor(F32, 3),)


def test_wrong_types_of_the_old_op_are_refused() -> None:
    index = Value("i", tensor(SI32, 2))
    good = single_op(
        "torch_index_select", (Value("x", tensor(F32, 3, 4)), index), (tensor(F32, 3, 2),),
        {"dim": 1, "batch_dims": 0},
    )  # fmt: skip
    assert check(good) == []
    wrong: tuple[tuple[TensorType, dict[str, Any], str], ...] = (
        (tensor(F32, 3, 3), {"dim": 1, "batch_dims": 0}, "result"),
        (tensor(F32, 3, 2), {"dim": 2, "batch_dims": 0}, "attributes"),
        (tensor(F32, 3, 2), {"dim": 0, "batch_dims": 1}, "attributes"),
        (tensor(F32, 3), {"dim": 1, "batch_dims": 1}, "operands"),
    )
    for result, given, first in wrong:
        operands = (Value("x", tensor(F32, 3, 4)), index)
        bad = single_op("torch_index_select", operands, (result,), given)
        assert check(bad)[0][1][0] == first

"""Gather and scatter: against the specification's formulas, element by element, and their rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.scatter import SCATTERED_UPDATES
from conformance.tolerance.table import DATA
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.invalid.misses import program, tensor
from generators.regions.bodies import fold_of
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, body_of, check, evaluate
from reference.ir.program import Operation, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, element_type, to_bits
from reference.ops.indexed.gather import torch_index_select
from reference.ops.indexed.gathering import gather_type, scatter_type
from reference.ops.indexed.indexing import wide_indices
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.gathering import (
    C64,
    F16,
    F32,
    POINTS,
    SI32,
    SI64,
    UI8,
    judge_result,
    points,
    traced_case,
)

NAN = float("nan")
SAMPLED = [ELEMENT_TYPES[name] for name in ("si32", "f32", "i1", "si4", "f8E4M3FN", "complex<f64>")]


# --- The specification's formulas ----------------------------------------------------------------


def start_of(indices: Array, batch: tuple[int, ...], vector_dim: int) -> list[int]:
    if vector_dim == indices.ndim:
        return [int(indices[batch])]
    chosen = indices[(*batch[:vector_dim], slice(None), *batch[vector_dim:])]
    return [int(index) for index in chosen]


def gather_elements(
    operand: Array, indices: Array, sizes: tuple[int, ...], shape: Any, a: Any
) -> Array:
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
    seen = 0
    for case in cases(op, of, seed=1, count=12):
        operation, operands, (result,) = traced_case(case, 0)
        if result.size > 300:
            continue
        a: dict[str, Any] = dict(operation.attributes)
        sizes = a["slice_sizes"] if op == "gather" else tuple(int(n) for n in operands[2])
        want = gather_elements(operands[0], operands[1], sizes, result.shape, a)
        assert np.array_equal(to_bits(result), to_bits(want)), operation
        seen += 1
    assert seen >= 3


def updates_in_order(
    shape: tuple[int, ...], indices: Array, updates: tuple[int, ...], a: Any
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every update index with its result index, where that is in bounds."""
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


def scatter_updates(operation: Operation, operands: list[Array], results: Any) -> list[Array]:
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
    seen = 0
    for case in cases("scatter", of, seed=2, count=14):
        operation, operands, results = traced_case(case, 0)
        if operands[-1].size > 150:
            continue
        want = scatter_updates(operation, operands, results)
        judged = judge(
            case.program, materialise(case.program, case.inputs[0]), results, want,
            SCATTERED_UPDATES,
        )  # fmt: skip
        assert not judged.verdict.fails, (operation, judged.message)
        if not of.is_float and not of.is_complex:
            for result, other in zip(results, want, strict=True):
                assert np.array_equal(to_bits(result), to_bits(other)), operation
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("op", ["gather", "dynamic_gather", "scatter", "torch_index_select"])
def test_cases_reach_attributes_and_edges(op: str) -> None:
    found: set[str] = set()
    for case in cases(op, F32, seed=3, count=250):
        operation = case.program.subject
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


def test_unsigned_indices_are_not_signed() -> None:
    types = {"x": tensor(F32, 300, 2), "i": tensor(UI8, 2)}
    made = program("gather", types, (tensor(F32, 2, 2),), **ROW)
    inputs = [np.arange(600, dtype=np.float32).reshape(300, 2), np.array([200, 3], np.uint8)]
    wrong = evaluate(made, inputs)[0].copy()
    wrong[0] = [0, 1]
    found = judge(made, inputs, evaluate(made, inputs), [wrong], DATA)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


def test_unsigned_indices_under_a_byte_are_not_signed() -> None:
    """Constant indices of dynamic_gather, read with their highest bit as a sign: 3 in ui2 as -1."""
    narrow = element_type("ui2")
    types = {"x": tensor(F32, 4, 2), "i": tensor(narrow, 2), "sizes": tensor(SI32, 2)}
    given = {key: value for key, value in ROW.items() if key != "slice_sizes"}
    made = program("dynamic_gather", types, (tensor(F32, 2, 2),), **given)
    x, indices = np.arange(8, dtype=np.float32).reshape(4, 2), np.array([3, 1], narrow.storage)
    inputs = [x, indices, np.array([1, 2], np.int32)]
    wrong = [evaluate(made, inputs)[0].copy()]
    wrong[0][0] = x[0]
    found = judge(made, inputs, evaluate(made, inputs), wrong, DATA)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


def test_nan_part_does_not_hide_the_other_part() -> None:
    made = points(C64, 1, 3, fold_of("add", C64).region)
    given = np.array([complex(0.1, NAN), complex(0.2, 1), complex(0.3, 2)], np.complex64)
    inputs = [np.zeros(1, np.complex64), np.zeros(3, np.int32), given]
    near = np.array([complex(np.nextafter(np.float32(0.6), 1), NAN)], np.complex64)
    assert judge_result(made, inputs, [near])[0] is Verdict.PASS
    far = np.array([complex(0.7, NAN)], np.complex64)
    assert judge_result(made, inputs, [far])[0].fails


def test_elements_of_an_empty_slice_are_unspecified() -> None:
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
    (open_,) = unspecified_elements(made.main.body.operations[-2], inputs, result)
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

"""Promises about indices that do not hold, and updates whose order decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generators.regions.bodies import BodyBuilder, fold_of
from reference.ir.program import Region, TensorType
from reference.ir.types import element_type
from reference.unspecified.gathering import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

F32 = element_type("f32")
SORTED, UNIQUE = "indices said to be sorted", "indices said to be unique"

GATHER: dict[str, Any] = {
    "offset_dims": (), "collapsed_slice_dims": (0, 1), "operand_batching_dims": (),
    "start_indices_batching_dims": (), "start_index_map": (0, 1), "index_vector_dim": 1,
    "slice_sizes": (1, 1),
}  # fmt: skip
SCATTER: dict[str, Any] = {
    "update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": (),
}  # fmt: skip


def unspecified_gather(indices: list[list[int]], *, is_sorted: bool = True, **given: Any) -> Found:
    operands = np.zeros((4, 4), np.float32), array("si32", indices)
    return unspecified_by(
        REASONS, "gather", *operands, **{**GATHER, "indices_are_sorted": is_sorted, **given}
    )


def test_index_vectors_are_sorted_lexicographically() -> None:
    assert unspecified_gather([[0, 3], [1, 0], [1, 1]]) == {}
    assert unspecified_gather([[1, 0], [0, 3]]) == {SORTED: [True, True]}
    assert unspecified_gather([[1, 1], [1, 0]]) == {SORTED: [True, True]}
    assert unspecified_gather([[1, 1], [1, 1]]) == {}
    assert unspecified_gather([[1, 0], [0, 3]], is_sorted=False) == {}


def test_an_empty_slice_has_no_element() -> None:
    found = unspecified_gather([[0, 0]], slice_sizes=(1, 0))
    assert found == {"element of an empty slice": [True]}


def test_sizes_of_dynamic_slices_are_values() -> None:
    given = {name: value for name, value in GATHER.items() if name != "slice_sizes"}
    operands = np.zeros((4, 4), np.float32), array("si32", [[1, 0], [0, 3]]), array("si32", [1, 1])
    to = TensorType((2,), F32)
    found = unspecified_by(
        REASONS, "dynamic_gather", *operands, to=to, indices_are_sorted=True, **given
    )
    assert found == {SORTED: [True, True]}


def unspecified_scatter(
    body: Region, indices: list[int], updates: list[float], **given: Any
) -> Found:
    operands = array("f32", [0, 0, 0]), array("si32", indices)[:, None], array("f32", updates)
    return unspecified_by(REASONS, "scatter", *operands, regions=(body,), **SCATTER, **given)


ADD, MULTIPLY = fold_of("add", F32).region, fold_of("multiply", F32).region


def replacing() -> Region:
    block = BodyBuilder.of(F32, F32)
    return block.finish_region(block.arguments[1])


def test_promises_about_the_indices_of_updates() -> None:
    for promise, label in (("indices_are_sorted", SORTED), ("unique_indices", UNIQUE)):
        assert unspecified_scatter(ADD, [0, 1], [1, 1], **{promise: True}) == {}
        wrong = [1, 0] if label == SORTED else [1, 1]
        assert unspecified_scatter(ADD, wrong, [1, 1], **{promise: True}) == {label: [True] * 3}
        assert unspecified_scatter(ADD, wrong, [1, 1]) == {}


def test_dropped_updates_need_not_be_unique() -> None:
    assert unspecified_scatter(ADD, [5, 5], [1, 1], unique_indices=True) == {}


@pytest.mark.parametrize(
    ("indices", "updates", "mask"),
    [
        ([1, 1], [1, 2], [False, True, False]),
        ([1, 1], [2, 2], None),  # the order makes no difference
        ([0, 1], [1, 2], None),
        ([1] * 5, [1, 2, 3, 4, 5], [False, True, False]),  # too many orders to try
    ],
)
def test_the_last_update_decides(
    indices: list[int], updates: list[float], mask: list[bool] | None
) -> None:
    found = unspecified_scatter(replacing(), indices, updates)
    assert found == ({} if mask is None else {"order of the updates": mask})


def test_sums_depend_on_the_order_only_by_overflow() -> None:
    assert unspecified_scatter(ADD, [1, 1], [0.1, 0.3]) == {}
    big = unspecified_scatter(ADD, [1, 1, 1], [2e38, 2e38, -2e38])
    assert big == {"order of the updates": [False, True, False]}
    assert unspecified_scatter(MULTIPLY, [1, 1, 1], [1e30, 1e30, 1e30]) != {}  # times zero


def test_results_of_the_computation_may_be_unspecified_themselves() -> None:
    """An integer quotient, of the element and the update."""
    of = element_type("si32")
    block = BodyBuilder.of(of, of)
    body = block.finish_region(block.op("divide", *block.arguments))
    operands = array("si32", [4, 4]), array("si32", [[1]]), array("si32", [0])
    found = unspecified_by(REASONS, "scatter", *operands, regions=(body,), **SCATTER)
    assert found == {"integer division by zero": [False, True]}


def test_indices_of_torch_that_are_out_of_range() -> None:
    operands = array("f32", [[1, 2], [3, 4]]), array("si32", [0, 1, 2, -1])
    found = unspecified_by(
        REASONS, "torch_index_select", *operands, dim=0, batch_dims=0,
        to=TensorType((4, 2), F32),
    )  # fmt: skip
    assert found == {"index out of range": [False] * 4 + [True] * 4}


def test_indices_of_torch_in_batches() -> None:
    operands = array("f32", np.zeros((2, 3, 2))), array("si32", [[0, 2], [0, 3]])
    found = unspecified_by(
        REASONS, "torch_index_select", *operands, dim=1, batch_dims=1,
        to=TensorType((2, 2, 2), F32),
    )  # fmt: skip
    assert found == {"index out of range": [False] * 6 + [True] * 2}


def test_complex_sums_and_products_depend_on_the_order_by_exceptions() -> None:
    of = element_type("complex<f32>")
    for op, update in (("add", 3e38), ("multiply", 1e20)):
        body = fold_of(op, of).region
        operands = array("complex<f32>", [1, 1]), array("si32", [[0], [0], [1]])
        updates = array("complex<f32>", [update, update, update / 1e20])
        found = unspecified_by(REASONS, "scatter", *operands, updates, regions=(body,), **SCATTER)
        assert found["order of the updates"] == [True, False]

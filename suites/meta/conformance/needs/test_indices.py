"""Indices stay within the accessed array."""

from __future__ import annotations

from conformance.needs import indices
from conformance.needs.need import Need
from generators.regions.bodies import fold_of
from reference.ir.program import Operation
from reference.ir.types import element_type
from suites.meta.conformance.needs.single_operations import (
    known_ranges,
    needs_by_rule,
    operation_on,
    value,
)

TABLE = value("t", "f32", 10, 6)
N, J = value("i", "si32"), value("j", "si32")


def test_starts_leave_room_for_the_slice() -> None:
    slice_ = operation_on("dynamic_slice", TABLE, N, J, slice_sizes=(3, 6))
    found = needs_by_rule(indices.dynamic_slice_indices, slice_)
    assert found == {"i": [Need(0, 7)], "j": [Need(0, 0)]}
    update = operation_on("dynamic_update_slice", TABLE, value("u", "f32", 4, 1), N, J)
    found = needs_by_rule(indices.dynamic_update_slice_indices, update)
    assert found == {"i": [Need(0, 6)], "j": [Need(0, 5)]}


def test_branch_exists() -> None:
    fold = fold_of("add", element_type("f32")).region
    case = Operation("case", (N,), (value("r"),), (), (fold, fold, fold))
    assert needs_by_rule(indices.case_indices, case) == {"i": [Need(0, 2)]}


def test_selected_position_exists() -> None:
    select = operation_on("torch_index_select", TABLE, N, dim=1, batch_dims=0)
    assert needs_by_rule(indices.torch_index_select_indices, select) == {"i": [Need(0, 5)]}


def gather(*, starts, sizes=(1, 2), **given) -> Operation:
    return operation_on(
        "gather", TABLE, starts, start_index_map=(0, 1), slice_sizes=sizes, index_vector_dim=1,
        **given,
    )  # fmt: skip


def test_index_vector_stays_in_the_smallest_dimension() -> None:
    starts = value("s", "si32", 4, 2)
    assert needs_by_rule(indices.gather_indices, gather(starts=starts)) == {"s": [Need(0, 4)]}


def test_components_that_are_concatenated_have_bounds_of_their_own() -> None:
    rows, columns = value("r", "si32", 4, 1), value("c", "si32", 4, 1)
    starts = value("s", "si32", 4, 2)
    joined = Operation("concatenate", (rows, columns), (starts,), (("dimension", 1),))
    known = known_ranges(TABLE, starts, makers=[joined])
    found = needs_by_rule(indices.gather_indices, gather(starts=starts), Need(), known)
    assert found == {"r": [Need(0, 9)], "c": [Need(0, 4)]}


def test_scatter_promises_unique_and_sorted_indices() -> None:
    starts = value("s", "si32", 4, 1)
    scatter = operation_on(
        "scatter", TABLE, starts, value("u", "f32", 4, 6), update_window_dims=(1,),
        inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        unique_indices=True, indices_are_sorted=False,
    )  # fmt: skip
    found = needs_by_rule(indices.scatter_indices, scatter)
    assert found == {"s": [Need(0, 9, distinct=True)]}

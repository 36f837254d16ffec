"""Gathers: promises of order that hold and that do not, sizes that are operands, empty slices."""

from __future__ import annotations

from typing import Any

from generators.families.gathering import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


def test_each_role_of_a_dimension_occurs() -> None:
    cases = built(BUILDERS["gather"], "f32", 150)
    assert_valid(cases)
    given: Any = [dict(one.attributes) for one in subjects(cases)]
    for name in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_index_map"):
        assert {bool(one[name]) for one in given} == {True, False}
    assert any(one["start_index_map"] != tuple(sorted(one["start_index_map"])) for one in given)
    ranks = [len(sizes(one, 1)) for one in subjects(cases)]
    vectors = [one["index_vector_dim"] for one in given]
    assert {0, 1} <= {rank - vector for rank, vector in zip(ranks, vectors, strict=True)}


def test_sorted_indices_are_listed_and_now_and_then_are_not() -> None:
    cases = built(BUILDERS["gather"], "f32", 100, {"indices_are_sorted": "yes"})
    profiles = [
        recipe.profiles[-1] for case in cases for recipe in case.inputs if len(recipe.profiles) == 2
    ]
    listed = [one for one in profiles if one.startswith("values:")]
    assert len(listed) > len(profiles) / 2
    assert any(not one.startswith("values:") for one in profiles)
    assert any("-1" in one.split(",") or one.startswith("values:-1") for one in listed)


def test_sizes_of_slices_are_known_or_not() -> None:
    cases = built(BUILDERS["dynamic_gather"], "f32", 100)
    assert_valid(cases)
    names = [{value.name for value in case.program.main.arguments} for case in cases]
    assert {"slice_sizes" in one for one in names} == {True, False}
    assert not any(one.attribute("operand_batching_dims") for one in subjects(cases))


def test_selected_indices_in_batches() -> None:
    cases = built(BUILDERS["torch_index_select"], "f32", 100)
    assert_valid(cases)
    for one in subjects(cases):
        dim, batches = one.attribute("dim"), one.attribute("batch_dims")
        assert isinstance(dim, int)
        assert isinstance(batches, int)
        assert 0 <= batches <= dim
        assert sizes(one, 1)[:batches] == sizes(one)[:batches]
    assert {one.attribute("batch_dims") for one in subjects(cases)} >= {0, 1}

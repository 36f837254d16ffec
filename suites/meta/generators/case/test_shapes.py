"""Shapes of cases: simple first, with sizes at the thresholds of kernels, now and then empty."""

from __future__ import annotations

from math import prod

import pytest

from generators.case.choices import Pick
from generators.case.shapes import (
    EMPTY,
    FEW,
    SMALL,
    THRESHOLD,
    WITH_ONE,
    axis,
    capped_label,
    is_large,
    limit_elements,
    rank_label,
    shape,
    size_label,
    sizes_label,
    step_label,
)
from reference.ir.types import element_type
from suites.meta.support.built_cases import pick_of


def drawn(count: int = 300, min_rank: int = 0, **planned: str) -> list[tuple[int, ...]]:
    return [shape(pick_of(seed, planned), min_rank=min_rank) for seed in range(count)]


def test_the_simplest_shape() -> None:
    assert shape(Pick(lambda _: 0)) == ()
    assert shape(Pick(lambda _: 0), min_rank=1) == (1,)


def test_ranks_0_to_7() -> None:
    assert {len(one) for one in drawn(600)} == set(range(8))
    assert min(len(one) for one in drawn(min_rank=1)) == 1


def test_kinds_of_sizes() -> None:
    assert all(0 in one for one in drawn(min_rank=1, sizes=EMPTY))
    assert all(1 in one for one in drawn(min_rank=1, sizes=WITH_ONE))
    assert not any(0 in one for one in drawn(sizes=SMALL))
    assert all(max(one) <= 17 for one in drawn(min_rank=1, sizes=SMALL))
    reached = {size for one in drawn(min_rank=1, sizes=THRESHOLD) for size in one}
    assert {31, 33, 64, 127, 129, 256} <= reached


def test_most_shapes_are_small_and_none_is_very_large() -> None:
    counts = sorted(prod(one) for one in drawn(1000))
    assert counts[len(counts) // 2] <= 64
    assert counts[-1] <= 40_000


def test_a_given_shape_is_used_once_if_it_has_enough_dimensions() -> None:
    pick = Pick(lambda _: 0)
    pick.shape = (5, 6)
    assert [shape(pick), shape(pick)] == [(5, 6), ()]
    pick.shape = ()
    assert shape(pick, min_rank=1) == (1,)


@pytest.mark.parametrize(("rank", "reached"), [(1, {0}), (2, {0, 1}), (5, {0, 1, 2, 3, 4})])
def test_a_dimension_is_the_first_the_last_or_any(rank: int, reached: set[int]) -> None:
    assert {axis(pick_of(seed), rank, "axis") for seed in range(100)} == reached
    assert axis(pick_of(0, {"axis": "first"}), rank, "axis") == 0
    if rank > 1:
        assert axis(pick_of(0, {"axis": "last"}), rank, "axis") == rank - 1
    inner = {axis(pick_of(seed, {"axis": "inner"}), 5, "axis") for seed in range(50)}
    assert inner == {1, 2, 3}


def test_only_types_with_kernels_of_their_own_get_large_operands() -> None:
    assert is_large(pick_of(0, {"large": "yes"}), element_type("f32"))
    assert not is_large(pick_of(0, {"large": "no"}), element_type("f32"))
    assert not is_large(pick_of(0, {"large": "yes"}), element_type("si16"))


def test_the_largest_sizes_are_reduced_until_there_are_few_elements() -> None:
    assert limit_elements((4, 6)) == (4, 6)
    assert prod((4, 6)) == FEW
    assert limit_elements((5, 5)) == (4, 4)
    assert limit_elements((2, 100)) == (2, 12)
    assert limit_elements((0, 100)) == (0, 100)


def test_labels() -> None:
    sizes = {0: "empty", 1: "1", 2: "small", 30: "small", 31: "threshold", 999: "threshold"}
    assert {size: size_label(size) for size in sizes} == sizes
    assert size_label(1000) == "large"
    assert [step_label(number) for number in (1, 2)] == ["1", "more"]
    several = {(): "none", (1,): "1", (5,): "one", (1, 1): "several", (2, 0): "empty"}
    assert {one: sizes_label(one) for one in several} == several
    assert [capped_label(2)(number) for number in (0, 1, 2, 3)] == [
        "0",
        "1",
        "2 or more",
        "2 or more",
    ]
    assert [rank_label(rank) for rank in (0, 1, 3, 4, 7)] == [
        "a scalar", "1", "3", "4 or more", "4 or more"
    ]  # fmt: skip

"""Data movement: broadcasts, windows, padding and shapes, with the edges of each."""

from __future__ import annotations

from math import prod

import pytest

from generators.case.choices import Pick
from generators.families.data_movement import (
    BUILDERS,
    LARGEST,
    broadcast,
    contents,
    draw_part,
    index_label,
    limit_sizes,
    other_shape,
    padding,
    permutation,
    rows,
    window,
)
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, pick_of

SEEDS = range(200)


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 25))


def test_index_types_by_width() -> None:
    names = ("si64", "ui32", "si16", "ui8", "si4", "ui2")
    assert [index_label(element_type(name)) for name in names] == [
        "si64", "ui32", "signed, 8 or 16 bits", "unsigned, 8 or 16 bits", *["2 or 4 bits"] * 2
    ]  # fmt: skip


def test_moved_data_are_of_a_few_profiles_combined_with_others() -> None:
    names = contents(element_type("f32"))
    assert {"special", "bits"} <= set(names)
    made = rows(element_type("f32"), ("a",), ("b",), times=2)
    assert len(made) == 2 * len(names)
    assert made[0] == (names[0], names[0], "a")


def test_sizes_that_are_too_large_are_cut_to_3() -> None:
    assert limit_sizes((LARGEST, 1)) == (LARGEST, 1)
    assert limit_sizes((LARGEST, 2)) == (3, 2)


def test_permutations() -> None:
    assert permutation(Pick(lambda _: 0), 4) == (0, 1, 2, 3)
    drawn = {permutation(pick_of(seed), 3) for seed in SEEDS}
    assert len(drawn) == 6


def test_parts_from_none_to_all() -> None:
    assert {draw_part(pick_of(seed), 9) for seed in SEEDS} == set(range(10))
    assert draw_part(pick_of(0, {"part": "empty"}), 9) == 0
    assert draw_part(pick_of(0, {"part": "all but 1"}), 9) == 8
    assert draw_part(pick_of(0, {"part": "1"}), 0) == 0


def test_broadcasts_stretch_or_add_dimensions_in_any_order() -> None:
    drawn = [broadcast(pick_of(seed)) for seed in SEEDS]
    for one in drawn:
        assert len(set(one.dimensions)) == len(one.before)
        assert all(b in (1, one.after[d]) for b, d in zip(one.before, one.dimensions, strict=True))
    assert any(one.dimensions != tuple(sorted(one.dimensions)) for one in drawn)
    assert {len(one.after) - len(one.before) for one in drawn} == {0, 1, 2, 3}


def test_windows_are_as_large_as_their_strides_leave_them() -> None:
    drawn = [window(pick_of(seed), (9, 1, 0)) for seed in SEEDS]
    for one in drawn:
        for axis, size in enumerate((9, 1, 0)):
            places = range(one.start[axis], one.limit[axis], one.strides[axis])
            assert len(places) == one.sizes[axis]
            assert one.limit[axis] <= size
    assert {0, 1, 9} <= {one.sizes[0] for one in drawn}
    assert max(max(one.strides) for one in drawn) == 1 << 33
    assert window(pick_of(0), ()) == ((), (), (), ())


def test_padding_adds_and_crops() -> None:
    drawn = [padding(pick_of(seed), (4, 0)) for seed in SEEDS]
    for one in drawn:
        for axis, size in enumerate((4, 0)):
            spread = size + max(size - 1, 0) * one.interior[axis]
            assert one.sizes[axis] == spread + one.low[axis] + one.high[axis]
    assert {-1, 0, 1} <= {min(max(one.low[0], -1), 1) for one in drawn}
    assert any(one.sizes[0] == 0 for one in drawn)
    only = [padding(pick_of(seed), (4,), negative=False) for seed in SEEDS]
    assert min(min(one.low + one.high) for one in only) == 0


def test_padding_that_leaves_none_is_reduced_to_leave_one() -> None:
    drawn = [padding(pick_of(seed, {"left": "some"}), (1,)) for seed in SEEDS]
    assert all(one.sizes[0] >= 1 for one in drawn)
    assert any(one.sizes[0] == 1 and min(one.low[0], one.high[0]) < 0 for one in drawn)


def test_another_shape_has_as_many_elements() -> None:
    for sizes in ((2, 1, 6), (), (4, 0)):
        drawn = {other_shape(pick_of(seed), sizes) for seed in SEEDS}
        assert {prod(one) for one in drawn} == {prod(sizes)}
        assert len(drawn) > 1
    merged = {other_shape(pick_of(seed, {"made anew": "merged"}), (2, 3, 5)) for seed in SEEDS}
    assert merged == {(6, 5), (2, 15)}
    flat = other_shape(pick_of(0, {"made anew": "flat"}), (2, 3))
    assert flat == (6,)

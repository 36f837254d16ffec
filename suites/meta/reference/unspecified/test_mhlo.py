"""The order of NaNs, of zeros of both signs and of equal elements, among the largest elements."""

from __future__ import annotations

import pytest

from reference.unspecified.mhlo import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by


def largest(of: str, *rows: list[float]) -> Found:
    return unspecified_by(REASONS, "mhlo.topk", array(of, rows), k=1)


def test_a_row_with_nan() -> None:
    assert largest("f32", [1, 2], [float("nan"), 1]) == {"order of NaN": [False, True]}


def test_a_row_with_zeros_of_both_signs() -> None:
    rows = [0.0, -0.0], [0.0, 0.0], [-0.0, -0.0], [-1.0, 0.0]
    assert largest("f32", *rows) == {"order of zeros": [True, False, False, False]}


@pytest.mark.parametrize("is_stable", [True, False])
def test_places_of_equal_elements(is_stable: bool) -> None:
    row = array("si32", [5, 7, 5, 1])
    values, places = (
        unspecified_by(REASONS, "chlo.top_k", row, number=number, k=2, is_stable=is_stable)
        for number in range(2)
    )
    assert not values
    assert places == ({} if is_stable else {"order of equal elements": [False, True]})


def test_integers_have_one_order() -> None:
    assert largest("si32", [0, -1], [0, 0]) == {}

"""The order of NaNs, and of zeros of both signs, among the largest elements."""

from __future__ import annotations

from reference.unspecified.mhlo import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by


def largest(of: str, *rows: list[float]) -> Found:
    return unspecified_by(REASONS, "mhlo.topk", array(of, rows), k=1)


def test_a_row_with_nan() -> None:
    assert largest("f32", [1, 2], [float("nan"), 1]) == {"order of NaN": [False, True]}


def test_a_row_with_zeros_of_both_signs() -> None:
    rows = [0.0, -0.0], [0.0, 0.0], [-0.0, -0.0], [-1.0, 0.0]
    assert largest("f32", *rows) == {"order of zeros": [True, False, False, False]}


def test_integers_have_one_order() -> None:
    assert largest("si32", [0, -1], [0, 0]) == {}

"""Error curves: positions within the picture, budgets on their lines, backends on one axis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.verdict import Errors
from reports import view
from reports.page.cells import Tables
from reports.page.curves import _DIGITS, curves, thin_points
from suites.meta.support import synthetic_run as synthetic


def positions(drawn: str) -> list[tuple[int, int]]:
    numbers = [
        _DIGITS.index(high) * 64 + _DIGITS.index(low)
        for high, low in zip(drawn[::2], drawn[1::2], strict=True)
    ]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def curve_of(points):
    run = synthetic.run("passing")
    key = ("exponential", "f32", "cpu")
    run = replace(run, errors={key: Errors([1] * 14, points)})
    return curves(Tables(view.build(run)))


@pytest.mark.parametrize(
    "points",
    [
        [(1.0, 0.5), (2.0, -1.0), (-1.0, 1.0)],
        [(-2e30, 4.0), (1e-300, -4.0), (0.0, 0.0)],
        [(5e-324, 1e300), (1.7e308, -1.0)],
    ],
)
def test_points_lie_within_the_picture_in_the_order_of_their_inputs(points):
    (made,) = curve_of(points).values()
    ((who, drawn),) = made["of"]
    found = positions(drawn)
    assert who == [0]
    assert len(found) == len(points)
    assert all(0 <= part <= 4095 for point in found for part in point)
    assert [x for x, _ in found] == sorted(x for x, _ in found)
    by_error = sorted(zip((y for _, y in sorted(points)), (y for _, y in found), strict=True))
    assert [y for _, y in by_error] == sorted(y for _, y in found)
    assert made["budget"][0] + made["budget"][1] == pytest.approx(4095, abs=1)


def test_exact_cells_and_numbers_that_are_not_finite_have_no_curve():
    assert curve_of([(1.0, 0.0), (2.0, 0.0)]) == {}
    assert curve_of([(1.0, float("nan")), (float("inf"), 1.0), (1.0, 1.0)]) == {}


@pytest.mark.slow
def test_backends_share_the_axes_and_equal_curves_are_stored_once():
    run = synthetic.large_run(3)
    key = ("exponential", "f32")
    errors = {**run.errors, (*key, "gpu"): run.errors[*key, "cpu"]}
    tables = Tables(view.build(replace(run, errors=errors)))
    made = curves(tables)[f"{tables.op(key[0])}/{tables.column(key[1])}"]
    assert [who for who, _ in made["of"]] == [[0, 1], [2]]


def test_thinning_keeps_the_worst():
    points = [(float(n), (-1.0) ** n * (n % 97)) for n in range(1_000)]
    kept = thin_points(points, 60)
    assert 40 < len(kept) <= 60
    assert max(abs(y) for _, y in kept) == 96
    assert thin_points(points[:5], 60) == sorted(points[:5])

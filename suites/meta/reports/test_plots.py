"""Pictures of errors: small, in words too, right about what is over the budget."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from conformance.verdict import HISTOGRAM_EDGES
from reports import plots

SERIES = plots.Series("f32", (9, 5, 0, 0, 2, *[0] * 8, 1), ((1.0, 0.5), (-2e30, -4.0)), 3.0)


def test_pictures_are_small_themed_and_well_formed():
    for picture in (plots.histogram_svg([SERIES, SERIES], "a"), plots.scatter_svg(SERIES, "b")):
        ET.fromstring(picture)
        assert len(picture) < 9_000
        picture = re.sub(r'aria-label="[^"]*"', "", picture)
        assert not re.search(r"#[0-9a-f]{6}|<metadata|<!--|font-family|xlink|\d\.\d{2,}", picture)
        assert {"var(--ink)", "var(--plot)", "var(--bad)"} <= set(
            re.findall(r"var\(--\w+\)", picture)
        )
    assert plots.scatter_svg(SERIES, "b") == plots.scatter_svg(SERIES, "b")


def test_pictures_say_in_words_what_they_show():
    assert "f32 52.94 % of 17 exact, 3 over budget" in plots.histogram_svg([SERIES], "a")
    assert "2 inputs, worst 4 ulp, budget ±3 ulp" in plots.scatter_svg(SERIES, "b")
    label = plots.scatter_svg(replace(SERIES, label='<a"&'), "c")
    assert 'aria-label="Error against input, &lt;a&quot;&amp;: ' in label


@pytest.mark.parametrize(
    "points",
    [
        [], [(0.0, 0.0), (0.0, 0.0)], [(math.nan, 1.0), (1.0, math.inf)],
        [(5e-324, 1.0), (1e308, -1.0)],
        [(-3.0, 0.0), (-2.0, 0.0)], [(1.0, 1e15), (2.0, -1e300)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("budget", [None, 0.0, 0.5, 1e6])
def test_scatter_copes_with_odd_points(points, budget):
    picture = plots.scatter_svg(plots.Series("f64", (0,) * 14, tuple(points), budget), "x")
    ET.fromstring(picture)
    assert "nan" not in picture.lower()


def test_labels_of_a_picture_are_not_rounded():
    picture = plots.scatter_svg(replace(SERIES, budget=0.125), "b")
    assert ">budget ±0.125 ulp<" in picture
    assert ">0.125<" in picture


def test_thinning_keeps_the_worst():
    points = [(float(x), float(x % 7)) for x in range(5_000)] + [(0.5, -99.0)]
    kept = plots._thinned(points)
    assert len(kept) <= plots.POINTS_PER_PICTURE
    assert (0.5, -99.0) in kept
    assert kept == sorted(kept)


def test_bins_are_over_only_beyond_the_budget():
    last = len(HISTOGRAM_EDGES)
    assert [plots._is_over(b, 2.0) for b in (0, 1, 2, 3, last)] == [False, False, False, True, True]
    assert not plots._is_over(0, 0.0)
    assert plots._is_over(1, 0.0)
    assert not plots._is_over(last, None)
    assert plots.sparse([4, 0, 2, *[0] * (last - 4), 1, 3]) == {"0": 4, "2": 2, "1k": 1, ">": 3}

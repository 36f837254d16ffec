"""Positions in a window that are left where they meet the image."""

from __future__ import annotations

import pytest

from conformance.known.shrunk_ranges import WindowDimension, are_exchanged, are_shrunk


def dimension(image: int, window: int, result: int, **given: int) -> WindowDimension:
    terms = {"stride": 1, "low": 0, "high": 0, "holes": 1, "steps": 1} | given
    return WindowDimension(image, window, result, **terms)


@pytest.mark.parametrize(
    ("of", "left"),
    [
        (dimension(1, 3, 1, low=1, high=1), range(1, 2)),
        (dimension(1, 3, 1, low=1, high=1, steps=2), range(1, 1)),
        (dimension(1, 3, 2, low=2, high=1), range(3)),  # several places, each with its position
        (dimension(1, 2, 2, low=3, high=-1, holes=2), range(0)),  # no sum reaches the image
        (dimension(4, 2, 3, stride=3, low=2, high=-2, holes=3), range(0)),  # all sums are in holes
        # 2 * position + place is at most 1: whatever the place, the position is 0
        (dimension(3, 2, 2, low=-1, high=2, steps=2), range(1)),
        (dimension(3, 2, 2, high=1, steps=2), range(2)),
        (dimension(3, 3, 1), range(3)),
        (dimension(3, 3, 1, low=2, high=-2), range(2, 3)),
        (dimension(3, 4, 1, stride=2, low=-1, high=-2, holes=3), range(4)),
        (dimension(4, 3, 4, stride=3, low=3, high=-1, holes=3), range(1)),
        (dimension(2, 2, 2, low=2, high=-1, holes=2, steps=2), range(1, 2)),
        (dimension(2, 3, 1, low=-1, holes=3), range(3)),
    ],
)
def test_positions_are_limited_by_one_variable_at_a_time(of: WindowDimension, left: range) -> None:
    assert of.positions == left or (not of.positions and not left)


@pytest.mark.parametrize(
    ("window", "is_shrunk"),
    [
        ([dimension(1, 3, 1, low=1, high=1)], True),
        ([dimension(3, 3, 1)], False),
        ([dimension(1, 1, 3, low=1, high=1)], False),
        ([dimension(3, 3, 1), dimension(1, 1, 1, low=1, high=-1)], True),  # none is left
        ([dimension(3, 1, 3), dimension(1, 1, 1, low=1, high=-1)], False),
    ],
)
def test_a_window_is_shrunk_if_several_positions_become_one(
    window: list[WindowDimension], is_shrunk: bool
) -> None:
    assert are_shrunk(window) == is_shrunk


@pytest.mark.parametrize(
    ("window", "is_reversed", "is_exchanged"),
    [
        ([dimension(1, 2, 1), dimension(2, 2, 2)], [1, 1], True),
        ([dimension(2, 2, 1), dimension(2, 2, 2)], [1, 1], False),  # as many products
        ([dimension(1, 2, 1)], [1], False),
        ([dimension(1, 2, 1), dimension(1, 2, 1), dimension(1, 2, 1)], [1, 1, 1], False),
        # dimensions that are exchanged with no other
        ([dimension(1, 2, 1), dimension(3, 3, 1)], [1, 0], False),
        ([dimension(1, 2, 1), dimension(3, 3, 1)], [1, 1], True),
        ([dimension(1, 2, 1), dimension(2, 2, 2, holes=2)], [1, 0], False),
        ([dimension(1, 2, 1), dimension(2, 2, 2, holes=2, high=1)], [1, 0], True),
        # a single element with full padding makes as many products as the window
        ([dimension(1, 2, 2, low=1, high=1), dimension(3, 3, 1, low=1)], [1, 0], False),
        ([dimension(1, 2, 2, low=1, high=0), dimension(3, 3, 1, low=1)], [1, 0], True),
    ],
)
def test_image_and_window_are_exchanged_for_fewer_products(
    window: list[WindowDimension], is_reversed: list[int], is_exchanged: bool
) -> None:
    assert are_exchanged(window, is_reversed) == is_exchanged

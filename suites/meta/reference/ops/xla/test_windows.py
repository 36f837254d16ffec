"""Padding by name."""

from __future__ import annotations

import pytest

from reference.ops.xla.windows import SAME, VALID, padding_along


@pytest.mark.parametrize(
    ("name", "window", "padding"),
    [
        (SAME, 3, (1, 1)),
        (SAME, 4, (1, 2)),
        (SAME, 1, (0, 0)),
        (SAME, 0, (0, 0)),
        (VALID, 4, (0, 0)),
    ],
)
def test_an_odd_element_of_padding_is_at_the_high_end(
    name: str, window: int, padding: tuple[int, int]
) -> None:
    assert padding_along(name, window) == padding


def test_there_is_no_other_padding() -> None:
    with pytest.raises(KeyError):
        padding_along("FULL", 3)

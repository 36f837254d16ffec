"""Windows from attributes, and the element that each window selects."""

from __future__ import annotations

import numpy as np

from generators.regions.bodies import selector
from reference.interpreter.evaluate import body_of
from reference.ir.constants import matrix
from reference.ir.types import element_type
from reference.numerics.contributions import Windows
from reference.ops.folds.folding import tree
from reference.ops.folds.windows import (
    NOWHERE,
    leaves_of_scatter,
    leaves_of_windows,
    pairs_of,
    selected_index,
)

LARGEST = body_of(selector(element_type("si32"), "GE"))


def test_omitted_attributes_are_one_and_omitted_padding_is_zero() -> None:
    found = leaves_of_windows((5, 4), window_dimensions=(2, 3))
    assert found == Windows((5, 4), (2, 3), (1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)))
    given = leaves_of_windows(
        (5,), window_dimensions=(2,), window_strides=(2,), base_dilations=(3,),
        window_dilations=(4,), padding=matrix([[5, 6]]),
    )  # fmt: skip
    assert given == Windows((5,), (2,), (2,), (3,), (4,), ((5, 6),))


def test_padding_is_low_then_high() -> None:
    assert pairs_of(matrix([[1, 2], [3, -4]]), 2) == ((1, 2), (3, -4))
    assert pairs_of(None, 2) == ((0, 0), (0, 0))


def test_each_window_selects_its_largest_element_the_first_of_equals() -> None:
    numbers = np.array([3, 1, 4, 1, 5, 5], np.int32)
    windows = leaves_of_windows((6,), window_dimensions=(2,), window_strides=(2,))
    assert selected_index(numbers, LARGEST, windows, tree).tolist() == [0, 2, 4]


def test_padding_is_never_selected() -> None:
    """Padding has the value 0, which is larger than all elements here."""
    numbers = np.array([-3, -1], np.int32)
    windows = leaves_of_windows(
        (2,), window_dimensions=(2,), window_strides=(2,), padding=matrix([[1, 3]])
    )
    assert selected_index(numbers, LARGEST, windows, tree).tolist() == [0, 1, NOWHERE]


def test_an_element_of_the_source_is_scattered_to_the_selected_position() -> None:
    numbers = np.array([[1, 2], [3, 0]], np.int32)
    windows = leaves_of_windows((2, 2), window_dimensions=(2, 1))
    leaves = leaves_of_scatter(numbers, LARGEST, windows, tree)
    assert leaves.shape == (2, 2)
    assert leaves.counts.tolist() == [[0, 1], [1, 0]]

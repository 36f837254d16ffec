"""Matrices of integers, as attributes hold them."""

from __future__ import annotations

import pytest

from reference.ir.constants import matrix


def test_rows_of_numbers() -> None:
    constant = matrix([[0, 1, 2], [3, 4, -1]])
    assert constant.array.tolist() == [[0, 1, 2], [3, 4, -1]]
    assert str(constant.type.element_type) == "si64"
    assert constant.type.shape == (2, 3)


def test_no_rows_have_the_stated_width() -> None:
    assert matrix([]).type.shape == (0, 0)
    assert matrix([], columns=2).type.shape == (0, 2)


def test_rows_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        matrix([[0, 1], [2]])

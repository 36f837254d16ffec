"""Rows of no group, numbers of other groups, and sizes that are no sizes."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import TensorType
from reference.ir.types import Array, element_type
from reference.unspecified.ragged import REASONS
from suites.meta.support.ops.contractions import DEPTH, ROWS
from suites.meta.support.ops.unspecified import Found, unspecified_by

LHS = np.ones((3, 2), np.float32)
EACH = np.ones((2, 2, 1), np.float32)


def rows(sizes: list[int], lhs: Array = LHS, each: Array = EACH, of: str = "f32") -> Found:
    to = TensorType((3, 1), element_type(of))
    return unspecified_by(
        REASONS, "chlo.ragged_dot", lhs, each, np.array(sizes, np.int32), to=to, **ROWS
    )


def put_infinity(given: Array, *at: int) -> Array:
    changed = given.copy()
    changed[at] = np.inf
    return changed


def test_rows_of_no_group() -> None:
    assert rows([1, 1]) == {"rows of no group": [False, False, True]}
    assert rows([1, 2]) == {}


def test_a_matrix_of_another_group_is_multiplied_by_zero() -> None:
    found = rows([1, 2], each=put_infinity(EACH, 0, 1, 0))
    assert found == {"no number in another group": [False, True, True]}
    assert rows([1, 2], lhs=put_infinity(LHS, 0, 0)) == {}  # only in its own row


@pytest.mark.parametrize("side", [0, 1])
def test_a_row_of_another_sum_is_multiplied_by_zero(side: int) -> None:
    operands = [LHS, LHS]
    operands[side] = put_infinity(LHS, 0, 0)
    to = TensorType((2, 2, 2), element_type("f32"))
    sizes = np.array([1, 2], np.int32)
    found = unspecified_by(REASONS, "chlo.ragged_dot", *operands, sizes, to=to, **DEPTH)
    second = [True, True, False, False] if side == 0 else [True, False, True, False]
    assert found == {"no number in another group": [False] * 4 + second}


def test_a_negative_size() -> None:
    assert rows([-1, 4])["negative group size"] == [True] * 3


def test_a_product_of_complex_numbers_that_are_not_finite() -> None:
    lhs, each = (one.astype(np.complex64) for one in (LHS, EACH))
    assert rows([1, 2], lhs, each, "complex<f32>") == {}
    lhs[0, 1] = complex(np.inf, -np.inf)
    found = rows([1, 2], lhs, each, "complex<f32>")
    assert found == {"exception in complex arithmetic": [True, False, False]}

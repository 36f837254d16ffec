"""Products with sparse matrices in compressed rows."""

from __future__ import annotations

import numpy as np
import pytest

from reference.custom_calls.sparse import CSR, sums_of_rows
from reference.custom_calls.targets import call_built_in
from reference.ir.errors import EvaluationError
from reference.ir.types import Array

INDPTR, INDICES = np.array([0, 2, 2, 5], np.int32), np.array([0, 3, 1, 1, 2], np.int32)
"""Three rows of four columns: the second is empty, the third stores an element in two parts."""


def product(values: Array, dense: Array, indptr: Array = INDPTR, indices: Array = INDICES) -> Array:
    return call_built_in(CSR, (values, indptr, indices, dense), {})[0]


@pytest.mark.parametrize("of", ["f4", "f8", "i4", "i8", "c8", "c16"])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_product_is_that_of_the_dense_matrix(of: str, columns: tuple[int, ...]) -> None:
    values = np.array([1, 2, 3, 4, 5], of)
    dense = np.arange(4 * 2).reshape(4, 2)[:, 0 if not columns else slice(None)].astype(of)
    matrix = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 7, 5, 0]], of)
    found = product(values, dense)
    assert found.dtype == np.dtype(of)
    np.testing.assert_array_equal(found, matrix @ dense)


def test_only_stored_elements_are_multiplied() -> None:
    values = np.array([0, 1, 1, 1, 1], np.float32)
    dense = np.array([np.inf, 1, np.nan, 2], np.float32)
    np.testing.assert_array_equal(product(values, dense), [np.nan, 0, np.nan])
    np.testing.assert_array_equal(product(values[:4], dense, INDPTR[:3], INDICES[1:])[1:], [0])


def test_sum_is_rounded_once() -> None:
    values = np.array([2.0**24, 1, 1, 1, -(2.0**24)], np.float32)
    indptr, indices = np.array([0, 5], np.int32), np.zeros(5, np.int32)
    assert product(values, np.ones(1, np.float32), indptr, indices) == [3]
    assert sums_of_rows(values, np.ones(1, np.float32), indptr, indices).dtype == np.float64


@pytest.mark.parametrize(
    ("indptr", "indices", "name"),
    [
        ([0, 2, 2, 6], [0, 3, 1, 1, 2], "offset is not in 0 to 5"),
        ([0, 2, 2, 5], [0, 4, 1, 1, 2], "column is not in 0 to 3"),
        ([0, 2, 2, 5], [0, -1, 1, 1, 2], "column is not in 0 to 3"),
    ],
)
def test_indices_out_of_range_have_no_result(
    indptr: list[int], indices: list[int], name: str
) -> None:
    with pytest.raises(EvaluationError, match=name):
        product(np.ones(5), np.ones(4), np.array(indptr), np.array(indices))

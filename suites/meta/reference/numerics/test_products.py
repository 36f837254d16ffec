"""Products of matrices with non-finite numbers, against sums of products."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import ELEMENT_TYPES
from reference.numerics.products import matmul, to_wide_type


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("rows", [1, 512])  # with many products these are cut in pieces
def test_a_part_that_no_product_makes_nan_of_is_not(name: str, rows: int) -> None:
    of = ELEMENT_TYPES[name]
    lhs = np.zeros((rows, 32), of.storage)
    lhs[-1, 1] = complex(-np.inf, 4.0)
    rhs = np.ones((32, 32), of.storage)
    found = matmul(to_wide_type(lhs), to_wide_type(rhs), of)
    assert (np.real(found[-1]) == -np.inf).all()  # -inf * 1 - 4 * 0
    assert np.isnan(np.imag(found[-1])).all()  # -inf * 0 + 4 * 1
    assert (found[:-1] == 0).all()

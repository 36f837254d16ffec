"""Products with sparse matrices, as jax.experimental.sparse calls them on a CPU.

Source: jaxlib's handler of `cpu_csr_sparse_dense_ffi`: the sparse matrix is in compressed rows. Row
i has the elements `indptr[i]` to `indptr[i + 1] - 1` of `values`, in the columns that `indices` has
there. An element may be stored in several parts, which are added up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from reference.ir.errors import EvaluationError
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import (
    Multiply,
    add_initial_zero,
    round_sums,
    to_wide_type,
    unrounded_products,
)

CSR = "cpu_csr_sparse_dense_ffi"
"""The target of a product of a sparse matrix with a vector or a dense matrix."""


def sums_of_rows(
    values: Array,
    dense: Array,
    indptr: Array,
    indices: Array,
    multiply: Multiply = unrounded_products,
) -> Array:
    """Return the product before rounding; `multiply` gives the product of two dense matrices."""
    columns = to_wide_type(dense).reshape(len(dense), -1)
    wide = to_wide_type(values)
    rows = [
        multiply(wide[None, begin:end], columns[indices[begin:end]])
        for begin, end in pairwise(indptr)
    ]
    shape = (len(rows), *dense.shape[1:])
    return np.concatenate(rows).reshape(shape) if rows else np.zeros(shape, wide.dtype)


@quiet
def csr_product(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the product of a sparse matrix with a vector or a dense matrix.

    Raises:
        EvaluationError: if an index is out of range; a backend reads foreign memory then.
    """
    del given
    values, indptr, indices, dense = inputs
    for name, index, size in (("offset", indptr, len(values) + 1), ("column", indices, len(dense))):
        if ((index < 0) | (index >= size)).any():
            raise EvaluationError(f"{CSR}: a {name} is not in 0 to {size - 1}")
    total = add_initial_zero(sums_of_rows(values, dense, indptr, indices))
    return (round_sums(total, element_type_of(values)),)


CALLS = {CSR: csr_product}
"""Implementations by target, for reference.custom_calls.targets."""

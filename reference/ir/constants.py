"""Integer constants that attributes hold: groups of ids, padding, sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import Dense, TensorType
from reference.ir.types import element_type


def matrix(numbers: Sequence[Sequence[int]], columns: int = 0) -> Dense:
    """Return a si64 constant with these rows, `columns` wide if there are no rows."""
    shape = (len(numbers), len(numbers[0]) if numbers else columns)
    array = np.array(numbers, np.int64).reshape(shape)
    return Dense.of(array, TensorType(shape, element_type("si64")))

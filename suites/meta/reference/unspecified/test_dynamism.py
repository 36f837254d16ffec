"""Indices that the type of a dynamic iota lacks."""

from __future__ import annotations

import numpy as np

from reference.ir.program import TensorType
from reference.ir.types import element_type
from reference.unspecified.dynamism import REASONS
from suites.meta.support.ops.unspecified import Found, unspecified_by


def counting(of: str) -> Found:
    shape = np.array([1, 9], np.int32)
    to = TensorType((1, 9), element_type(of))
    return unspecified_by(REASONS, "dynamic_iota", shape, to=to, iota_dimension=1)


def test_an_integer_type_holds_its_largest_index() -> None:
    assert counting("si4") == {"index out of the integer type's range": [False] * 8 + [True]}
    assert counting("ui4") == {}


def test_a_type_without_zero_lacks_the_first_index() -> None:
    assert counting("f8E8M0FNU")["zero or negative in f8E8M0FNU"] == [True] + [False] * 8
    assert counting("f32") == {}

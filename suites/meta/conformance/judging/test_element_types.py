"""Results whose element type is the unsigned type of the same width."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.element_types import is_unsigned, reinterpret_bits
from suites.meta.support.small_programs import array


@pytest.mark.parametrize(
    ("stated", "got", "same"),
    [
        ("si32", "ui32", True),
        ("f32", "ui32", True),
        ("f32", "f32", True),
        ("bf16", "ui16", True),
        ("f6E2M3FN", "ui8", True),
        ("f32", "ui64", False),
        ("f32", "ui16", False),
        ("f32", "si32", False),
        ("complex<f32>", "ui64", False),
    ],
)
def test_stated_type_or_unsigned_type_of_its_width(stated: str, got: str, same: bool) -> None:
    assert is_unsigned(array([0], stated), array([0], got)) is same


def test_bits_are_read_as_the_stated_type() -> None:
    stated = [array([0.0], "f32"), array([5], "si8")]
    got = [np.array([0xBF800000], np.uint32), array([7], "si8")]
    first, second = reinterpret_bits(stated, got)
    assert (first.dtype, first.tolist()) == (np.float32, [-1.0])
    assert second is got[1]


def test_numbers_of_results_must_agree() -> None:
    with pytest.raises(ValueError, match="shorter"):
        reinterpret_bits([array([0.0])], [])

"""Wide numbers that overflow where their narrower type does."""

from __future__ import annotations

import numpy as np

from reference.ir.types import element_type
from reference.numerics.ranged import RangedNumbers


def ranged_numbers(of: str, *numbers: float) -> RangedNumbers:
    return RangedNumbers(np.array(numbers, np.float64), element_type(of))


def test_numbers_are_not_rounded() -> None:
    total = ranged_numbers("f16", 1.0) + 2.0**-40
    assert total.numbers.tolist() == [1 + 2.0**-40]
    assert total.of == element_type("f16")


def test_a_number_that_rounds_beyond_the_largest_is_infinite() -> None:
    """The largest f16 is 65504; from 65520 on numbers round to infinity."""
    found = ranged_numbers("f16", 65519.0, 65520.0, -70000.0) * 1.0
    assert found.numbers.tolist() == [65519, np.inf, -np.inf]


def test_an_overflow_on_the_way_stays_infinite() -> None:
    x = ranged_numbers("f16", 60000.0)
    assert ((x + x) / 2.0).numbers.tolist() == [np.inf]
    assert np.add.reduce(ranged_numbers("f16", 60000.0, 60000.0, -60000.0)).numbers == 60000


def test_types_without_infinity_do_not_overflow() -> None:
    assert (ranged_numbers("f8E4M3FN", 448.0) * 4.0).numbers.tolist() == [1792]

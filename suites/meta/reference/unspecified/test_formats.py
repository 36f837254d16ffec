"""Values that limited formats cannot encode, and their nearest neighbours that they can."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.types import element_type
from reference.unspecified.formats import is_limited, not_encodable
from suites.meta.support.ops.unspecified import array


def labels(of: str, number: float) -> list[str]:
    value = np.array([number])
    return [label for label, mask in not_encodable(value, array(of, [1])) if mask.any()]


def test_only_ieee_formats_have_infinities_and_nans() -> None:
    limited = {
        of: is_limited(element_type(of)) for of in ("f32", "bf16", "f8E5M2", "f8E4M3FN", "si8")
    }
    assert limited == {"f32": False, "bf16": False, "f8E5M2": False, "f8E4M3FN": True, "si8": False}


@pytest.mark.parametrize(
    ("of", "tie", "overflows"),
    [
        ("f8E4M3FN", 464, False),  # 448 is even, so that the tie rounds to it
        ("f8E5M2FNUZ", 61440, True),  # 57344 is odd
        ("f4E2M1FN", 7, True),
        ("f6E2M3FN", 7.75, True),
    ],
)
def test_overflow_begins_at_the_tie_with_the_next_number(
    of: str, tie: float, overflows: bool
) -> None:
    label = ["overflow in a format without infinity"]
    assert labels(of, np.nextafter(tie, 0)) == []
    assert labels(of, -tie) == (label if overflows else [])
    assert labels(of, np.nextafter(tie, np.inf)) == label


def test_nan_needs_a_code() -> None:
    assert labels("f4E2M1FN", np.nan) == ["NaN in a format without NaN"]
    assert labels("f8E4M3FN", np.nan) == []


@pytest.mark.parametrize(
    ("number", "label"),
    [
        (0.0, "zero or negative in f8E8M0FNU"),
        (-1.0, "zero or negative in f8E8M0FNU"),
        (2.0**-128, "below the range of f8E8M0FNU"),
        (3.0, "tie in f8E8M0FNU"),
        (2.0**128, "overflow in a format without infinity"),
    ],
)
def test_powers_of_two_alone(number: float, label: str) -> None:
    assert label in labels("f8E8M0FNU", number)


@pytest.mark.parametrize("number", [2.0**-127, 1.0, 3.001, 2.0**127])
def test_numbers_within_the_range_of_powers_of_two(number: float) -> None:
    assert labels("f8E8M0FNU", number) == []

"""Types of values and forms of needs that rules distinguish."""

from __future__ import annotations

import pytest

from conformance.needs.need import BITS, DEFINITE, DOMINANT, Need
from conformance.needs.rules import is_complex, is_integer, passes_arithmetic
from suites.meta.conformance.needs.single_operations import value


@pytest.mark.parametrize(
    ("of", "integer", "complex_"),
    [
        ("si32", True, False),
        ("ui8", True, False),
        ("i1", False, False),
        ("f32", False, False),
        ("complex<f32>", False, True),
    ],
)
def test_truth_values_are_no_integers(of: str, integer: bool, complex_: bool) -> None:
    assert is_integer(value("x", of)) is integer
    assert is_complex(value("x", of)) is complex_


@pytest.mark.parametrize(
    ("form", "passes"),
    [(BITS, True), (DEFINITE, True), (DOMINANT, True), ("f32", False), ("", False)],
)
def test_arithmetic_keeps_matrices_and_bits_but_no_encoded_floats(form: str, passes: bool) -> None:
    assert passes_arithmetic(Need(form=form)) is passes

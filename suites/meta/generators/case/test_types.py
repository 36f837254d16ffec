"""Types to which a type can be bitcast."""

from __future__ import annotations

import pytest

from generators.case.types import bitcast_results
from reference.ir.types import ALL, ElementType, element_type


@pytest.mark.parametrize("of", ALL, ids=str)
def test_a_type_itself_comes_first_and_once(of: ElementType) -> None:
    results = bitcast_results(of)
    assert results[0] is of
    assert len(set(results)) == len(results)
    assert all(of in bitcast_results(to) for to in results)


def test_bits_of_the_wider_type_are_a_multiple() -> None:
    names = {str(to) for to in bitcast_results(element_type("f32"))}
    assert {"ui32", "si4", "f64", "bf16"} <= names
    assert "f6E2M3FN" not in names


def test_complex_types_are_bitcast_among_themselves() -> None:
    assert {str(to) for to in bitcast_results(element_type("complex<f32>"))} == {
        "complex<f32>", "complex<f64>"
    }  # fmt: skip

"""Transforms: every algorithm's lengths, spectra that have an inverse, real and complex."""

from __future__ import annotations

import pytest

from generators.families.fft import BUILDERS
from reference.ops.fft import count_bins
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects

FFT = BUILDERS["fft"]


@pytest.mark.parametrize(
    ("kind", "lengths"),
    [
        ("power of 2", {8, 16, 512}),
        ("prime", {7, 127, 509}),
        ("odd", {9, 25}),
        ("even", {6, 360}),
        ("large", {1024, 3000, 4096}),
        ("1", {1}),
        ("empty", {0}),
    ],
)
def test_lengths_of_a_kind(kind: str, lengths: set[int]) -> None:
    cases = built(FFT, "complex<f32>", 200, {"transform rank": "1", "length": kind})
    assert lengths <= {sizes(one, -1)[-1] for one in subjects(cases)}
    assert_valid(cases[:20])


def test_a_real_type_is_transformed_to_half_a_spectrum() -> None:
    found = subjects(built(FFT, "f64"))
    assert {one.attribute("fft_type") for one in found} == {"RFFT"}
    assert all(sizes(one, -1)[-1] == count_bins(sizes(one)[-1]) for one in found)
    assert {str(one.results[0].type.element_type) for one in found} == {"complex<f64>"}  # type: ignore[union-attr]


def test_most_operands_of_inverses_are_spectra_of_real_numbers() -> None:
    cases = built(FFT, "complex<f32>", 60, {"fft_type": "IRFFT"})
    recipes = [recipe.profiles[0] for case in cases for recipe in case.inputs if recipe.profiles]
    spectra = [one for one in recipes if one.startswith("spectrum:")]
    assert len(spectra) > len(recipes) / 2


def test_lengths_need_not_be_the_operands() -> None:
    cases = built(FFT, "complex<f32>", 40, {"fft_type": "FFT", "fft_length differs": "yes"})
    assert any(one.attribute("fft_length")[-1] < sizes(one)[-1] for one in subjects(cases))  # type: ignore[index]


def test_transforms_of_up_to_three_dimensions_in_batches() -> None:
    found = subjects(built(FFT, "complex<f32>", 120))
    assert {len(one.attribute("fft_length")) for one in found} == {1, 2, 3}  # type: ignore[arg-type]
    assert {sizes(one)[: -len(one.attribute("fft_length"))] for one in found} >= {(), (2, 3), (0,)}  # type: ignore[arg-type]

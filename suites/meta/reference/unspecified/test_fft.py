"""Transforms that depend on the order of sums, and inverses of what no real transform gives."""

from __future__ import annotations

import numpy as np

from reference.unspecified.fft import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

OVERFLOW = "infinities, NaNs or overflow in a transform"
UNREAL = "imaginary parts where rfft has none"


def unspecified_transform(
    numbers: object, fft_type: str, *lengths: int, of: str = "complex<f32>"
) -> Found:
    given = {"fft_type": fft_type, "fft_length": lengths}
    return unspecified_by(REASONS, "fft", array(of, numbers), **given)


def test_a_number_that_is_not_finite_affects_its_own_transform() -> None:
    rows = [[1, np.inf], [1, 2], [np.nan, 0]]
    assert unspecified_transform(rows, "FFT", 2) == {
        OVERFLOW: [True, True, False, False, True, True]
    }


def test_sums_that_may_overflow_on_the_way() -> None:
    assert unspecified_transform([2e38, 2e38], "FFT", 2) == {OVERFLOW: [True, True]}
    assert unspecified_transform([5e37, 5e37], "FFT", 2) == {}


def test_ends_of_a_real_spectrum_are_real() -> None:
    assert unspecified_transform([1j, 1, 1], "IRFFT", 4) == {UNREAL: [True] * 4}
    assert unspecified_transform([1, 1, 1j], "IRFFT", 4) == {UNREAL: [True] * 4}
    assert unspecified_transform([1, 1j, 1], "IRFFT", 4) == {}
    assert unspecified_transform([1, 1, 1j], "IRFFT", 5) == {}  # an odd length has no last element
    assert unspecified_transform([1j, 1, 1], "IFFT", 3) == {}
    assert unspecified_transform(np.zeros((0, 3)), "IRFFT", 4) == {}


def test_rounding_errors_are_no_imaginary_parts() -> None:
    """Tolerated: 8 u log2 4 times the norm, which is 2; u is 2^-24."""
    tolerance = 8 * 2.0**-24 * 2 * 2
    rows = [[1, 2.0**0.5, 1 + 0.9j * tolerance], [1, 2.0**0.5, 1 + 1.1j * tolerance]]
    assert unspecified_transform(rows, "IRFFT", 4) == {UNREAL: [False] * 4 + [True] * 4}


def test_imaginary_parts_may_cancel_over_the_outer_dimension() -> None:
    assert unspecified_transform([[1, 1, 1], [1j, 1, 1], [-1j, 1, 1]], "IRFFT", 3, 4) == {}
    assert unspecified_transform([[1, 1, 1], [1j, 1, 1], [1j, 1, 1]], "IRFFT", 3, 4) != {}

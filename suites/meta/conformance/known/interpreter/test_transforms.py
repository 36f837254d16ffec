"""Fourier transforms computed as sums, with the error of their angles."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.interpreter.transforms import DIRECT_SUM
from suites.meta.support.small_programs import op_program, tensor_of

X = np.array([1.0, -2.0, 3.0, 4.0]).astype(np.complex128)


def is_explained(kind: str, error: float) -> list[bool]:
    of = tensor_of(4, of="complex<f64>")
    operation = op_program("fft", [of], of, fft_type=kind, fft_length=(4,)).subject
    expected = (np.fft.fft(X) if kind == "FFT" else np.fft.ifft(X),)
    assert DIRECT_SUM.errors is not None
    (errors,) = DIRECT_SUM.errors(operation, (X,), expected, (expected[0] + error,))
    return (errors <= 1).tolist()


BOUND = 20 * 2.0**-53 * 4 * 10
"""For a sum of 4 terms whose magnitudes add up to 10."""


@pytest.mark.parametrize(("kind", "share"), [("FFT", 1.0), ("IFFT", 0.25)])
def test_error_grows_with_the_length_and_the_magnitudes(kind: str, share: float) -> None:
    assert is_explained(kind, BOUND * share * 0.9) == [True] * 4
    assert is_explained(kind, BOUND * share * 1.2) == [False] * 4

"""Constants that are misread as an iota, which begins with +0."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.iota import as_iotas, is_iota
from suites.meta.support.small_programs import array


@pytest.mark.parametrize(
    ("values", "of", "found"),
    [
        ([-0.0, 1.0], "f32", True),
        ([0.0, 1.0, 2.0], "bf16", True),
        ([0j, 1 + 0j], "complex<f32>", True),
        ([0j, 1 + 1j], "complex<f32>", False),
        ([-0.0], "f32", False),
        ([0.0, 2.0], "f32", False),
        ([[0.0, 1.0]], "f32", False),
        ([0, 1], "si32", False),
    ],
)
def test_iota_has_the_numbers_from_zero_in_one_dimension(values, of: str, found: bool) -> None:
    assert is_iota(array(values, of)) is found


def test_zeros_of_misread_constants_are_positive() -> None:
    x, y = array([-0.0, 1.0]), array([-0.0, 5.0])
    first, second = as_iotas((x, y), (True, True)) or (x, y)
    assert first.tolist() == [0.0, 1.0]
    assert not np.signbit(first[0])
    assert second is y


def test_only_constants_are_misread() -> None:
    assert as_iotas((array([-0.0, 1.0]),), (False,)) is None


@pytest.mark.parametrize(("reshaped", "sign"), [(True, False), (False, True)])
def test_reshaped_constants_are_misread(reshaped: bool, sign: bool) -> None:
    given = array([[-0.0, 1.0]])
    (found,) = as_iotas((given,), (True,), reshaped=reshaped) or (given,)
    assert found.shape == (1, 2)
    assert np.signbit(found[0, 0]) == sign

"""Formulas of StableHLO's complex math expander: right in all branches."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.complex_numbers import expanded_formulas
from conformance.known.xla.complex_numbers.complex_formulas import Complex
from conformance.known.xla.complex_numbers.machines import Machine
from reference.ir.types import ELEMENT_TYPES

PARTS = [3.0, 4.0, 1e-3, 1e-30, 1e30, 3e38, 2.0**-149]
NUMBERS = [complex(x * s, y * t) for x in PARTS for y in PARTS for s in (1, -1) for t in (1, -1)]


@pytest.mark.parametrize("ranged", [False, True])
def test_square_root_is_that_of_numpy(ranged: bool) -> None:
    machine = Machine(ELEMENT_TYPES["f32"], ranged=ranged)
    numbers = np.array(NUMBERS, np.complex64)
    with np.errstate(all="ignore"):
        parts = map(machine.exactly, (numbers.real.copy(), numbers.imag.copy()))
        found = expanded_formulas.sqrt(Complex(*parts))
    expected = np.sqrt(numbers.astype(np.clongdouble))
    for got, want in zip(found, (expected.real, expected.imag), strict=True):
        assert (np.abs(got.value - want) <= got.error + 2.0**-22 * np.abs(want)).all()
        assert (np.isfinite(got.error) | ranged).all()

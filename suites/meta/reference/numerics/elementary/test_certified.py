"""Rounding by balls: undecided values take more precision, ties are rounded as ties."""

from __future__ import annotations

import flint
import numpy as np

from reference.ir.types import element_type
from reference.numerics.elementary.certified import round_certified

F32, F64, BF16 = (element_type(name) for name in ("f32", "f64", "bf16"))


def test_values_are_rounded_to_nearest() -> None:
    x = np.array([1.0, 2.0])
    assert round_certified(lambda a: flint.arb(a).exp(), [x], F64).tolist() == [
        np.exp(1),
        np.exp(2),
    ]
    found = round_certified(lambda a, b: flint.arb(a) / flint.arb(b), [x, x[::-1]], BF16)
    assert found.dtype == BF16.storage
    assert found.astype(float).tolist() == [0.5, 2]


def test_a_value_near_a_midpoint_takes_more_precision() -> None:
    """1 + 2^-24 is midway between 1 and the next f32; 2^-200 more decides for the next."""
    precisions: list[int] = []

    def near_midpoint(sign: float) -> flint.arb:
        precisions.append(flint.ctx.prec)
        far = flint.arb(sign) * flint.arb(2) ** -200
        return flint.arb(1) + flint.arb(2) ** -24 + far * flint.arb(3).sqrt()

    found = round_certified(near_midpoint, [np.array([1.0, -1.0])], F32)
    assert found.tolist() == [1 + 2.0**-23, 1]
    assert max(precisions) == 256


def test_an_exact_midpoint_is_a_tie() -> None:
    def midpoint(odd: float) -> flint.arb:
        inexact = flint.arb(2).sqrt() ** 2 - 2  # a ball around 0 at every precision
        return flint.arb(1) + flint.arb(odd) * flint.arb(2) ** -24 + inexact

    found = round_certified(midpoint, [np.array([1.0, 3.0])], F32)
    assert found.tolist() == [1, 1 + 2.0**-22]


def test_the_precision_of_the_library_is_restored() -> None:
    before = flint.ctx.prec
    round_certified(lambda a: flint.arb(a), [np.array([1.0])], F32)
    assert flint.ctx.prec == before


def test_no_values() -> None:
    assert round_certified(lambda a: flint.arb(a), [np.array([])], F32).shape == (0,)

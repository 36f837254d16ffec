"""Distributions that are undefined, and generators of an algorithm nobody states."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import Operation, attributes
from reference.unspecified.random import REASONS, is_invalid_mean, is_undefined


@pytest.mark.parametrize(
    ("distribution", "a", "b", "undefined"),
    [
        ("UNIFORM", 0, 1, False),
        ("UNIFORM", 1, 1, True),
        ("UNIFORM", 2, 1, True),
        ("UNIFORM", -np.inf, 1, True),
        ("NORMAL", 5, 0, False),
        ("NORMAL", 5, -1, True),
        ("NORMAL", 5, np.nan, True),
        ("NORMAL", np.nan, 1, True),
    ],
)
def test_parameters_of_a_distribution(
    distribution: str, a: float, b: float, undefined: bool
) -> None:
    operation = Operation("rng", attributes=attributes(rng_distribution=distribution))
    operands = np.array(a, np.float32), np.array(b, np.float32)
    assert is_undefined(operation, operands) == undefined
    (reason,) = REASONS["rng"]
    ((_, mask),) = reason(operation, operands, np.zeros(3), 0)
    assert mask == undefined


@pytest.mark.parametrize(
    ("mean", "invalid"), [(0, False), (1, False), (-0.1, True), (1.1, True), (np.nan, True)]
)
def test_means_of_zeros_and_ones(mean: float, invalid: bool) -> None:
    assert is_invalid_mean(np.array(mean, np.float32)) == invalid
    (reason,) = REASONS["RngBernoulli"]
    ((_, mask),) = reason(Operation("RngBernoulli"), (np.array(mean),), np.zeros(3), 0)
    assert mask == invalid


@pytest.mark.parametrize(
    ("algorithm", "label"), [("DEFAULT", "algorithm"), ("PHILOX", "variant of PHILOX")]
)
def test_every_bit_of_every_algorithm(algorithm: str, label: str) -> None:
    operation = Operation("rng_bit_generator", attributes=attributes(rng_algorithm=algorithm))
    (reason,) = REASONS["rng_bit_generator"]
    ((found, mask),) = reason(operation, (), np.zeros(3), 0)
    assert (found, bool(mask)) == (label, True)

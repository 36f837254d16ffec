"""Whether drawn numbers refute their distribution."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.bounds.random import is_not_random, refutes_mean
from reference.ir.types import Array


@pytest.mark.parametrize(
    ("ones", "count", "mean", "refuted"),
    [
        (500, 1000, 0.5, False),
        (600, 1000, 0.5, True),
        (400, 1000, 0.5, True),
        (580, 1000, 0.5, False),
        (5, 5, 0.5, False),
        (0, 1000, 0.0, False),
        (1000, 1000, 1.0, False),
    ],
)
def test_count_of_ones_refutes_a_mean_that_is_many_deviations_away(
    ones: int, count: int, mean: float, refuted: bool
) -> None:
    """1000 numbers of mean 1/2 have a deviation of 15.8; at p < 1e-9 six of these refute."""
    assert refutes_mean(ones, count, mean) is refuted


def test_small_samples_refute_nothing_and_large_samples_small_differences() -> None:
    assert not any(refutes_mean(ones, 20, 0.5) for ones in range(21))
    assert refutes_mean(505_000, 1_000_000, 0.5)


RANDOM = np.random.default_rng(0)
F32_STEP = 2.0**-23


@pytest.mark.parametrize(
    "values",
    [
        np.full(16, 0.3),
        np.tile(RANDOM.random(8), 2),
        np.sort(RANDOM.random(16)),
        np.sort(RANDOM.random(16))[::-1],
        np.concatenate([RANDOM.random(50), np.sort(RANDOM.random(16))]),
        np.sort(RANDOM.random((64, 2)), axis=1).reshape(-1),
    ],
    ids=["equal", "repeated", "rising", "falling", "rising at the end", "rising in pairs"],
)
def test_repeated_and_ordered_numbers_are_not_random(values: Array) -> None:
    assert is_not_random(values, F32_STEP)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 2, 10, 1000, 50_000])
def test_independent_numbers_are_random(count: int) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        assert not is_not_random(random.random(count, np.float32), F32_STEP)
        assert not is_not_random(random.integers(0, 256, count), 1 / 256)
        assert not is_not_random(random.integers(0, 3, count), 1 / 3)

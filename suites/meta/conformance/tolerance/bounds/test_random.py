"""Whether drawn numbers refute their distribution."""

from __future__ import annotations

import pytest

from conformance.tolerance.bounds.random import refutes_mean


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

"""Near misses of transforms: element types, lengths, and the sizes of half a spectrum."""

from __future__ import annotations

import pytest

from generators.invalid import fft
from suites.meta.support.near_misses import assert_separate, attributes, shapes


@pytest.mark.parametrize("op", fft.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(fft, op)


def test_a_wrong_length_may_agree_with_the_number_of_bins() -> None:
    """5 // 2 + 1 = 4 // 2 + 1, so only the length itself shows the error."""
    lengths = attributes(fft, "fft", "C4", "fft_length")
    bins = [shape[-1] // 2 + 1 for shape in shapes(fft, "fft", "C4")[:3]]
    assert bins == [shape[-1] for shape in shapes(fft, "fft", "C4", -1)[:3]]
    assert any(length[-1] // 2 + 1 == count for length, count in zip(lengths, bins, strict=False))


def test_a_rank_is_missed_on_both_sides() -> None:
    assert {len(lengths) for lengths in attributes(fft, "fft", "C3", "fft_length")} == {0, 4}

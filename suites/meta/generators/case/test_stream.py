"""Choices from streams of words: the same everywhere for the same key and number."""

from __future__ import annotations

import numpy as np

from generators.case.stream import key_of, stream


def drawn(key: int, index: int, count: int = 100, below: int = 1000) -> list[int]:
    pick = stream(key, index)
    return [pick(below) for _ in range(count)]


def test_equal_keys_and_numbers_make_equal_choices() -> None:
    assert drawn(1, 2) == drawn(1, 2)


def test_other_keys_and_other_numbers_make_other_choices() -> None:
    others = [drawn(1, 2), drawn(1, 3), drawn(2, 2), drawn(1 + (1 << 64), 2)]
    assert len({tuple(one) for one in others}) == 4


def test_choices_of_one_version_are_those_of_the_next() -> None:
    """A reported case is found again by its key and number alone."""
    assert key_of("abs/f32") == 0xBEDC94CA0B74EE01D5F6B04178F78122
    assert drawn(5, 0, 6) == [733, 590, 207, 443, 248, 677]


def test_choices_are_numpys_words_in_order_beyond_the_first_block() -> None:
    words = np.random.Philox(key=7, counter=3 << 128).random_raw(100).tolist()
    assert drawn(7, 3, 100, 1 << 64) == words


def test_each_choice_is_below_its_count() -> None:
    assert set(drawn(1, 0, 300, 3)) == {0, 1, 2}
    counts = np.bincount(drawn(1, 0, 3000, 3))
    assert (abs(counts - 1000) < 150).all()


def test_a_plan_comes_before_the_words() -> None:
    pick = stream(1, 0, {"rank": "7"}, turn=0)
    assert pick.choose_named("rank", range(9), str) == 7
    assert pick.is_planned

"""One column of a covering array: which cases contribute, and what is aimed at next."""

from __future__ import annotations

from generators.cells.coverage_column import (
    TRIES,
    Column,
    last_contributing_case,
    pop_missing,
    rotate_pairs,
    values_offered_until,
)


def test_the_last_case_that_takes_a_new_value() -> None:
    column = Column(rows=[(1, 10), (2, 10), (1, 10), (2, 11), (2, 10)])
    assert last_contributing_case(column, 5) == 3
    assert last_contributing_case(column, 3) == 1
    assert last_contributing_case(column, 1) == 0


def test_a_case_that_is_offered_a_value_contributes() -> None:
    column = Column(rows=[(1,)] * 4, options={"size": {1: 0, 2: 2}})
    assert last_contributing_case(column, 4) == 2
    assert last_contributing_case(column, 2) == 0  # a later offer does not count


def test_so_does_the_first_that_aims_at_a_value_that_is_never_taken() -> None:
    column = Column(rows=[(1,)] * 4, options={"size": {1: 0, 2: 0}}, aimed={2: 3, 1: 1})
    assert last_contributing_case(column, 4) == 3
    taken = Column(rows=[(1,), (2,), (1,), (1,)], options={"size": {1: 0, 2: 0}}, aimed={2: 3})
    assert last_contributing_case(taken, 4) == 1


def test_values_offered_up_to_a_case() -> None:
    assert values_offered_until(1, {5: 0, 6: 1, 7: 2}, {8: 1}) == [5, 6, 8]


def test_a_missing_value_is_aimed_at_a_few_times() -> None:
    column = Column()
    missing = {7: (1, 2), 8: ()}
    for turn in range(TRIES):
        column.plans = [{}] * turn
        assert 7 in missing
        assert pop_missing(column, missing, 7) == (1, 2)
    assert list(missing) == [8]
    assert column.aimed == {7: 0}  # the first case that aimed at it


def test_a_value_that_is_aimed_at_moves_to_the_end() -> None:
    missing: dict[int, tuple[int, ...]] = {7: (), 8: ()}
    pop_missing(Column(), missing, 7)
    assert list(missing) == [8, 7]


def test_columns_start_at_different_pairs() -> None:
    pairs: dict[int, tuple[int, ...]] = dict.fromkeys(range(6), ())
    assert list(rotate_pairs(pairs, 0, 3)) == [0, 1, 2, 3, 4, 5]
    assert list(rotate_pairs(pairs, 1, 3)) == [2, 3, 4, 5, 0, 1]
    assert list(rotate_pairs(pairs, 2, 4)) == [3, 4, 5, 0, 1, 2]

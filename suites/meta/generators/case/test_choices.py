"""Choices that make a case: drawn or planned, with names or without, in turn."""

from __future__ import annotations

from collections import Counter
from typing import Any

from generators.case.choices import NamedChoice, Pick, choose, label_of, name_of, seldom


def last(count: int) -> int:
    return count - 1


def first(_: int) -> int:
    return 0


def test_an_unnamed_choice_is_drawn_and_not_recorded() -> None:
    pick = Pick(last)
    assert choose(pick, "abc") == "c"
    assert pick.asked == []


def test_a_named_choice_records_the_distinct_values_offered() -> None:
    pick = Pick(last)
    assert choose(pick, (1, 1, 2), "rank") == 2
    assert pick.asked == [NamedChoice("rank", ("1", "2"), "2")]


def test_a_planned_value_is_taken_the_first_time() -> None:
    pick = Pick(last, {"rank": "1"})
    assert [choose(pick, (0, 1, 2), "rank") for _ in range(2)] == [1, 2]
    assert [one.taken for one in pick.asked] == ["1", "2"]


def test_among_options_of_the_planned_value_one_is_drawn() -> None:
    options = (0, 1, 2, 3)
    assert (
        choose(Pick(last, {"d": "even"}), options, "d", lambda n: "odd" if n % 2 else "even") == 2
    )


def test_a_planned_value_that_is_not_offered_is_ignored() -> None:
    pick = Pick(first, {"rank": "7"})
    assert choose(pick, (0, 1), "rank") == 0
    assert pick.asked[0].taken == "0"


def test_equal_options_of_other_types_have_labels_of_their_own() -> None:
    for options, taken in (((False, True), "False"), ((0, 1), "0"), (((0, True),), "0 True")):
        pick = Pick(first)
        choose(pick, options, "one")
        assert pick.asked[0].taken == taken
    pick = Pick(first)
    choose(pick, ((False, 1),), "one")
    assert pick.asked[0].taken == "False 1"


def test_a_hidden_dimension_is_drawn_and_not_recorded() -> None:
    pick = Pick(last, {"rank": "0"})
    pick.hidden = frozenset({"rank"})
    assert choose(pick, (0, 1), "rank") == 1
    assert pick.asked == []


def test_a_case_is_built_again_by_plan_or_freely() -> None:
    pick = Pick(last, {"rank": "0"})
    for freely, taken in ((False, 0), (False, 0), (True, 1)):
        pick.has_empty_results = True
        pick.start(freely=freely)
        assert choose(pick, (0, 1), "rank") == taken
        assert len(pick.asked) == 1
        assert not pick.has_empty_results


def test_an_aim_replaces_what_is_left_of_the_plan() -> None:
    pick = Pick(last, {"rank": "0", "sizes": "0"})
    pick.set_plan({"sizes": "1"})
    assert choose(pick, (0, 1, 2), "rank") == 2
    assert choose(pick, (0, 1, 2), "sizes") == 1


def test_every_round_of_turns_takes_each_option_once_in_another_order() -> None:
    rounds = [
        [Pick(first, turn=round_ * 5 + n).round_robin(5, 0) for n in range(5)]
        for round_ in range(3)
    ]
    assert all(sorted(one) == [0, 1, 2, 3, 4] for one in rounds)
    assert len({tuple(one) for one in rounds}) == 3


def test_steps_within_a_case_go_on_where_the_turn_begins() -> None:
    assert Pick(first, turn=3).round_robin(5, 2) == Pick(first, turn=5).round_robin(5, 0)


def test_counts_that_a_stride_divides() -> None:
    assert sorted(Pick(first, turn=n).round_robin(7, 0) for n in range(7)) == list(range(7))


def test_without_turns_a_case_draws() -> None:
    pick = Pick(last)
    assert pick.round_robin(5, 0) == 4
    assert not pick.is_planned
    assert Pick(last, turn=0).is_planned


def test_once_in_so_many_times() -> None:
    drawn = Counter(seldom(Pick(lambda _, n=n: n), 5) for n in range(5))  # type: ignore[misc]
    assert drawn == {False: 4, True: 1}
    pick = Pick(first, {"large": "yes"})
    assert seldom(pick, 60, "large", paired=False)
    assert pick.asked == [NamedChoice("large", ("no", "yes"), "yes", paired=False)]


def test_labels_of_options() -> None:
    given: list[Any] = [None, (), 1.5, (1, None), {"a": "LT", "b": 2}, first]
    assert [label_of(one) for one in given[:5]] == ["none", "none", "1.5", "1 none", "LT 2"]
    assert label_of(NamedChoice("d", (), "t")) != "d"


def test_names_of_functions_in_words() -> None:
    def _by_two_keys() -> None: ...

    assert name_of(_by_two_keys) == "by two keys"

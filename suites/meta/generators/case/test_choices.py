"""Choices that make a case, drawn or planned; streams of words that draw them; cases as keys."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import NamedChoice, Pick, choose, label_of, name_of, seldom
from generators.case.stream import key_of, stream
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import element_type


def last(count: int) -> int:
    return count - 1


def first(_: int) -> int:
    return 0


def test_only_named_choices_are_recorded_with_the_distinct_values_offered() -> None:
    pick = Pick(last)
    assert choose(pick, "abc") == "c"
    assert choose(pick, (1, 1, 2), "rank") == 2
    assert pick.asked == [NamedChoice("rank", ("1", "2"), "2")]


def test_a_planned_value_is_taken_the_first_time_if_it_is_offered() -> None:
    pick = Pick(last, {"rank": "1"})
    assert [choose(pick, (0, 1, 2), "rank") for _ in range(2)] == [1, 2]
    assert [one.taken for one in pick.asked] == ["1", "2"]
    pick = Pick(first, {"rank": "7"})
    assert choose(pick, (0, 1), "rank") == 0
    assert pick.asked[0].taken == "0"
    # among options of the planned value one is drawn
    even = Pick(last, {"d": "even"})
    assert choose(even, (0, 1, 2, 3), "d", lambda n: "odd" if n % 2 else "even") == 2


def test_equal_options_of_other_types_have_labels_of_their_own() -> None:
    for options, taken in (
        ((False, True), "False"), ((0, 1), "0"), (((0, True),), "0 True"),
        (((False, 1),), "False 1"),
    ):  # fmt: skip
        pick = Pick(first)
        choose(pick, options, "one")
        assert pick.asked[0].taken == taken


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


def test_turns_take_each_option_once_in_another_order_each_round() -> None:
    rounds = [
        [Pick(first, turn=round_ * 5 + n).round_robin(5, 0) for n in range(5)]
        for round_ in range(3)
    ]
    assert all(sorted(one) == [0, 1, 2, 3, 4] for one in rounds)
    assert len({tuple(one) for one in rounds}) == 3
    # steps within a case go on where the turn begins; a stride may divide the count
    assert Pick(first, turn=3).round_robin(5, 2) == Pick(first, turn=5).round_robin(5, 0)
    assert sorted(Pick(first, turn=n).round_robin(7, 0) for n in range(7)) == list(range(7))
    pick = Pick(last)
    assert pick.round_robin(5, 0) == 4
    assert (pick.is_planned, Pick(last, turn=0).is_planned) == (False, True)


def test_once_in_so_many_times() -> None:
    drawn = Counter(seldom(Pick(lambda _, n=n: n), 5) for n in range(5))  # type: ignore[misc]
    assert drawn == {False: 4, True: 1}
    pick = Pick(first, {"large": "yes"})
    assert seldom(pick, 60, "large", paired=False)
    assert pick.asked == [NamedChoice("large", ("no", "yes"), "yes", paired=False)]


def test_labels_of_options() -> None:
    def _by_two_keys() -> None: ...

    given: list[Any] = [None, (), 1.5, (1, None), {"a": "LT", "b": 2}]
    assert [label_of(one) for one in given] == ["none", "none", "1.5", "1 none", "LT 2"]
    assert name_of(_by_two_keys) == "by two keys"


# --- Streams of words ----------------------------------------------------------------------------


def drawn(key: int, index: int, count: int = 100, below: int = 1000) -> list[int]:
    pick = stream(key, index)
    return [pick(below) for _ in range(count)]


def test_choices_depend_on_key_and_number_only() -> None:
    assert drawn(1, 2) == drawn(1, 2)
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
    assert (abs(np.bincount(drawn(1, 0, 3000, 3)) - 1000) < 150).all()


def test_a_plan_comes_before_the_words() -> None:
    pick = stream(1, 0, {"rank": "7"}, turn=0)
    assert pick.choose_named("rank", range(9), str) == 7
    assert pick.is_planned


# --- Cases ---------------------------------------------------------------------------------------


def case_of(op: str, *profiles: str) -> Case:
    of = TensorType((2,), element_type("f32"))
    return Case(single_op(op, (Value("operand", of),), (of,)), (InputRecipe(profiles, 7),))


def test_equal_cases_are_one_key_in_any_process() -> None:
    case = case_of("abs", "bits")
    assert len({case, case_of("abs", "bits"), case_of("abs", "special")}) == 2
    assert pickle.loads(pickle.dumps(case)) == case
    assert InputRecipe(("bits",), 7) == InputRecipe(("bits",), 7, "independent")

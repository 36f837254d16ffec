"""Questions about elements: the first that explains an element decides its class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.judging.questions import Answer, ask, exact_match, restrict_answers
from conformance.verdict import Verdict
from reference.ir.types import Array

NUMBERS = np.array([0.0, 1.0, 2.0, 3.0])
REST = (Verdict.DIVERGENT, "wrong value")


def is_small(numbers: Array) -> Answer:
    yield Verdict.FLUSHED, "small", numbers < 2


def is_odd(numbers: Array) -> Answer:
    yield Verdict.INACCURATE, "odd", *exact_match(numbers % 2 == 1)


def explain_rest(numbers: Array) -> Answer:
    yield *REST, np.ones(len(numbers), np.bool_)


def test_the_first_question_that_explains_an_element_decides() -> None:
    found = ask((is_small, is_odd, explain_rest), NUMBERS, 4)
    small, odd = (Verdict.FLUSHED, "small"), (Verdict.INACCURATE, "odd")
    assert found.per_element() == [small, small, REST, odd]
    assert ask((is_odd, is_small, explain_rest), NUMBERS, 4).per_element()[1] == odd


def test_only_elements_of_the_class_count_as_predicted() -> None:
    assert ask((is_small, is_odd, explain_rest), NUMBERS, 4).predicted.tolist() == [
        False, False, False, True,
    ]  # fmt: skip
    first = ask((is_odd, is_small, explain_rest), NUMBERS, 4)
    assert first.predicted.tolist() == [False, True, False, True]


def test_no_question_is_asked_once_all_elements_are_explained() -> None:
    def fail_if_asked(numbers: Array) -> Iterator[tuple[Verdict, str, Array]]:
        raise AssertionError(numbers)

    assert ask((explain_rest, fail_if_asked), NUMBERS, 4).is_complete
    assert not ask((is_small,), NUMBERS, 4).is_complete


def test_answers_are_restricted_to_some_elements() -> None:
    def is_odd_and_large(numbers: Array) -> Answer:
        yield from restrict_answers(is_odd(numbers), numbers > 1)

    found = ask((is_odd_and_large, explain_rest), NUMBERS, 4)
    assert found.per_element() == [REST, REST, REST, (Verdict.INACCURATE, "odd")]

"""Messages about elements say what these are, and a class once."""

from __future__ import annotations

import pytest

from conformance.judging.wording import of_elements, with_class
from conformance.verdict import Element, Verdict

FIRST = Element(0, (9, 1), "23.892237", "", "23.272442", "")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.FLUSHED, "3 of 20 elements are as if subnormal numbers were zero; at [9, 1] "),
        (Verdict.INACCURATE, "3 of 20 elements are further off than is permitted; at [9, 1] "),
        (Verdict.DIVERGENT, "3 of 20 elements are wrong; at [9, 1] expected 23.892237, got 23.272"),
        (Verdict.UNSPECIFIED, "are different, where the specification leaves the result open; at"),
    ],
)
def test_a_message_says_what_the_elements_of_a_verdict_are(verdict: Verdict, words: str) -> None:
    assert words in of_elements(verdict, "class", 3, 20, FIRST)


def test_results_beside_the_first_are_named() -> None:
    second = Element(1, (), "1", "", "2", "")
    assert of_elements(Verdict.DIVERGENT, "sign", 1, 1, second).startswith(
        "sign: 1 of 1 element of result 1 is wrong; at [] expected 1, got 2"
    )


def test_a_class_is_said_once() -> None:
    assert with_class("divergent", "sign", "sign: wrong") == "divergent (sign): wrong"
    assert with_class("divergent", "sign", "other: wrong") == "divergent (sign): other: wrong"
    assert with_class("divergent", "sign", "@f: sign: wrong") == "divergent (sign): @f: wrong"
    assert with_class("pass", "", "") == "pass"
    assert with_class("unsupported", "", "why") == "unsupported: why"

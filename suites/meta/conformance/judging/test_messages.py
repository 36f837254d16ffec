"""Messages describe elements by their verdict, and name a class once."""

from __future__ import annotations

import pytest

from conformance.judging.judgement import merge_failing
from conformance.judging.messages import elements_message, verdict_text
from conformance.verdict import Element, Failing, Verdict

FIRST = Element(0, (9, 1), "23.892237", "", "23.272442", "")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.FLUSHED, "3 of 20 elements are as if subnormal numbers were zero; at [9, 1] "),
        (Verdict.INACCURATE, "3 of 20 elements are further off than is permitted; at [9, 1] "),
        (Verdict.DIVERGENT, "3 of 20 elements are wrong; at [9, 1] expected 23.892237, got 23.272"),
        (Verdict.UNSPECIFIED, "are different, where the result is unspecified; at"),
    ],
)
def test_message_describes_elements_by_verdict(verdict: Verdict, words: str) -> None:
    assert words in elements_message(verdict, "class", 3, 20, FIRST)


def test_message_says_which_numbers_are_flushed_only_if_these_are_all() -> None:
    def failing(detail: str) -> Failing:
        message = elements_message(Verdict.FLUSHED, "flushed", 2, 4, FIRST, detail=detail)
        return Failing(Verdict.FLUSHED, "flushed", message, 1)

    (alike,) = merge_failing([failing("operands"), failing("operands")])
    assert "2 of 4 elements are as if subnormal operands were zero" in alike.message
    (mixed,) = merge_failing([failing("operands"), failing("results")])
    assert "as if subnormal numbers were zero" in mixed.message
    (mixed,) = merge_failing([mixed, failing("operands")])
    assert "as if subnormal numbers were zero" in mixed.message


def test_results_beside_the_first_are_named() -> None:
    second = Element(1, (), "1", "", "2", "")
    assert elements_message(Verdict.DIVERGENT, "sign", 1, 1, second).startswith(
        "sign: 1 of 1 element of result 1 is wrong; at [] expected 1, got 2"
    )


def test_a_class_is_said_once() -> None:
    assert verdict_text("divergent", "sign", "sign: wrong") == "divergent (sign): wrong"
    assert verdict_text("divergent", "sign", "other: wrong") == "divergent (sign): other: wrong"
    assert verdict_text("divergent", "sign", "@f: sign: wrong") == "divergent (sign): @f: wrong"
    assert verdict_text("flushed", "flushed", "as zero") == "flushed: as zero"
    assert verdict_text("pass", "", "") == "pass"
    assert verdict_text("unsupported", "", "why") == "unsupported: why"

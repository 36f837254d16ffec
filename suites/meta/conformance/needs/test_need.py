"""Conditions on elements: intervals, forms, and what they become under arithmetic."""

from __future__ import annotations

from math import inf

import pytest

from conformance.needs.need import (
    ANY,
    BITS,
    DEFINITE,
    NONZERO,
    POSITIVE,
    Need,
    at_least,
    at_most,
    conjunction,
    negate_need,
    scale_need,
    shift_need,
)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (ANY, POSITIVE, POSITIVE),
        (at_least(1), at_most(5), Need(1, 5)),
        (at_least(1), at_least(3), at_least(3)),
        (at_least(0, is_open=True), at_least(0), POSITIVE),
        (NONZERO, at_least(0), Need(0, nonzero=True)),
        (at_least(7), Need(0, 3), Need(0, 3)),
        (at_most(1), at_least(2), at_least(2)),
        (Need(form=BITS), Need(0, 7), Need(0, 7)),
        (Need(form=DEFINITE), Need(0, 7), Need(0, 7, form=DEFINITE)),
        (Need(distinct=True), Need(in_order=True), Need(distinct=True, in_order=True)),
    ],
)
def test_conjunction_prefers_what_is_bounded_or_greater(one: Need, other: Need, both: Need) -> None:
    assert conjunction(one, other) == both
    assert conjunction(other, one) == both


@pytest.mark.parametrize(
    ("need", "excluded"),
    [
        (ANY, False),
        (POSITIVE, True),
        (NONZERO, True),
        (at_least(0), False),
        (at_most(0, is_open=True), True),
        (Need(1, 2), True),
        (Need(-1, 2), False),
    ],
)
def test_zero_is_excluded(need: Need, excluded: bool) -> None:
    assert need.excludes_zero is excluded


def test_empty_and_bounded_intervals() -> None:
    assert Need(2, 1).is_empty
    assert Need(1, 1, is_open=True).is_empty
    assert not Need(1, 1).is_empty
    assert Need(0, 1).is_bounded
    assert not at_least(0).is_bounded


def test_an_infinite_end_is_not_open() -> None:
    assert not at_least(-inf, is_open=True).is_open
    assert at_most(0, is_open=True).is_open


def test_needs_move_with_the_operand() -> None:
    assert negate_need(Need(1, 5)) == Need(-5, -1)
    assert shift_need(Need(1, 5, nonzero=True), 3) == Need(-2, 2)


@pytest.mark.parametrize(
    ("need", "low", "high", "scaled"),
    [
        (Need(2, 8), 1, 4, Need(2, 2)),
        (Need(-8, 8), 2, 4, Need(-2, 2)),
        (Need(-8, -2), 1, 4, Need(-2, -2)),
        (at_least(3), 1, inf, at_least(0)),
        (Need(-1, 5), 1, inf, ANY),
    ],
)
def test_every_multiple_satisfies_the_need(
    need: Need, low: float, high: float, scaled: Need
) -> None:
    assert scale_need(need, low, high) == scaled

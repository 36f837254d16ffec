"""Places: a few failures of each are minimised, more where these have several causes."""

from __future__ import annotations

import pytest

from conformance.fuzzing import places
from conformance.fuzzing.places import PER_CAUSE, Places

ABS, SINE = "divergent | NaN | abs", "divergent | NaN | sine"
FLUSHED = ("flushed | flushed | abs", "flushed | flushed | sine")


def note_minimised(some: Places, place: str, culprit: str, finding: str) -> None:
    """Note a failure that was minimised."""
    some.count_begun(place, culprit)
    some.add(place, culprit, finding)


def test_each_new_cause_extends_the_limit_of_a_place() -> None:
    some = Places()
    for _ in range(PER_CAUSE):
        assert not some.is_settled(ABS, "abs f32")
        note_minimised(some, ABS, "abs f32", "one")
    assert some.is_settled(ABS, "abs f32")
    assert not some.is_settled(ABS, "abs bf16")  # another culprit
    assert not some.is_settled(SINE, "sine f32")
    note_minimised(some, ABS, "abs bf16", "two")
    assert not some.is_settled(ABS, "abs f32")


def test_failures_count_for_finding_of_culprit_or_place() -> None:
    some = Places()
    assert some.finding_of(ABS, "abs f32") == ""
    for culprit, finding in (("abs f32", "one"), ("abs f64", "one"), ("abs bf16", "two")):
        note_minimised(some, ABS, culprit, finding)
    assert some.finding_of(ABS, "abs bf16") == "two"
    assert some.finding_of(ABS, "abs f16") == "one"
    assert some.finding_of(SINE, "sine f16") == ""
    note_minimised(some, FLUSHED[0], "abs f32", "three")
    assert some.finding_of(FLUSHED[1], "sine f32") == "three"


@pytest.mark.parametrize("pair", [FLUSHED, (ABS, ABS)])
def test_a_class_that_was_found_often_enough_is_counted(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "ENOUGH", 5)
    some = Places()
    for _ in range(5):
        some.count_failure(pair[0])
    assert not some.is_settled(pair[1], "new f32")  # there is no finding to count it for
    note_minimised(some, pair[0], "old f32", "one")
    assert some.is_settled(pair[1], "new f32")
    assert not some.is_settled(SINE, "sine f32")


def test_earlier_minimisations_count_when_campaign_continues() -> None:
    before = [(ABS, "abs f32", "one")] * PER_CAUSE
    some = Places({ABS: PER_CAUSE}, before)
    assert some.is_settled(ABS, "abs f32")
    assert not some.is_new(ABS)
    assert some.is_new(SINE)

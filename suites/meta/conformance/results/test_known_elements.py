"""Elements that expectations match, and those that their classes predict."""

from __future__ import annotations

from conformance.results.known_elements import KnownElements, known_elements
from conformance.verdict import Detail, Failing, Record, Verdict


def failing_class(known: str, wrong: int, predicted: int) -> Failing:
    return Failing(Verdict.DIVERGENT, "k", "m", wrong, known=known, predicted=predicted)


def record(known: str, *of: Failing, wrong: int = 0) -> Record:
    detail = Detail("", b"", wrong, 100)
    return Record(
        "add", "f32", "cpu", 0, "", Verdict.DIVERGENT, known=known, detail=detail, failing=of
    )


RECORDS = [
    record("a", failing_class("a", 4, 3), failing_class("b", 2, 2), failing_class("", 50, 0)),
    record("a", wrong=3),
    record("", failing_class("", 7, 0)),
    record("", wrong=9),
    record("z", failing_class("z", 5, 0)),
]


def test_elements_of_all_entries_and_of_one() -> None:
    assert known_elements(RECORDS) == KnownElements(9, 5)
    assert known_elements(RECORDS, "a") == KnownElements(7, 3)
    assert known_elements(RECORDS, "b") == KnownElements(2, 2)
    assert known_elements(RECORDS, "c") == KnownElements()
    assert known_elements(RECORDS, "z") == KnownElements(5, 0)


def test_entries_that_predict_nothing_are_not_counted() -> None:
    assert known_elements(RECORDS[-1:]) == KnownElements()
    assert known_elements(RECORDS, unpredictable=["z"]) == KnownElements(14, 5, 5)


def test_the_share_is_rounded_down() -> None:
    assert KnownElements(3, 2).percent == 66.6
    assert KnownElements(1000, 999).percent == 99.9
    assert KnownElements().percent is None

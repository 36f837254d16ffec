"""The time for explanations: a share of the file's limit, counted over all its programs."""

from __future__ import annotations

import time

import pytest

from conformance.check.explaining import ExplanationTime
from conformance.executors.limit import OutOfTime
from conformance.limits import Limits


def test_time_spent_on_an_explanation_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    explanation = ExplanationTime(Limits(20.0))
    assert explanation.seconds_left() == 10.0

    def explain() -> str:
        nonlocal now
        now += 4.0
        return "the cause"

    assert explanation.spend(explain) == "the cause"
    assert explanation.seconds_left() == 6.0


def test_an_explanation_ends_before_its_worker_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    soon = ExplanationTime(Limits(20.0), deadline=1004.0)
    assert soon.seconds_left() == 3.0  # a second is reserved for the verdict
    over = ExplanationTime(Limits(20.0), deadline=1000.5)
    with pytest.raises(OutOfTime):
        over.spend(lambda: "never asked")


def test_an_explanation_that_takes_too_long_is_interrupted() -> None:
    explanation = ExplanationTime(Limits(0.2))
    with pytest.raises(OutOfTime):
        explanation.spend(lambda: time.sleep(600))
    assert explanation.seconds_left() <= 0.0
    assert "--timeout 0.4 allows twice as long" in explanation.note()

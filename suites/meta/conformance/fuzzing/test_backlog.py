"""The backlog of failures: bounded, places without a finding first, and no failure forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from conformance.fuzzing import failures
from conformance.fuzzing.backlog import Backlog, UnexplainedFinding, WaitingFailure
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping.journal import Journal
from conformance.fuzzing.places import Places


def order(backlog: Backlog, places: Places) -> list[int]:
    """Return the numbers of waiting work in the order of execution; causes are negative."""
    found = []
    while (one := backlog.next()) is not None:
        if isinstance(one, WaitingFailure):
            places.count_begun(one.place, one.culprit)
        found.append(one.number)
    return found


def test_new_groups_come_first_then_rare_classes() -> None:
    backlog = Backlog(places := Places())
    for number, (place, group) in enumerate(
        [("a", "flushed"), ("a", "flushed"), ("b", "flushed"), ("c", "divergent")]
    ):
        backlog.add(WaitingFailure(number, place, group))
    assert backlog.urgent_count == 3
    assert order(backlog, places) == [0, 3, 2, 1]
    assert len(backlog) == 0


def test_heavy_failure_waits_until_others_have_begun() -> None:
    backlog = Backlog(places := Places())
    for number in range(4):
        backlog.add(WaitingFailure(number, f"a{number}", "flushed", weight=2))
        backlog.add(WaitingFailure(10 + number, f"b{number}", "divergent"))
    assert order(backlog, places) == [0, 10, 11, 1, 12, 13, 2, 3]


def test_new_causes_and_culprits_come_before_further_failures() -> None:
    backlog = Backlog(places := Places())
    for number, culprit in enumerate(["abs f32", "abs f32", "abs bf16"]):
        backlog.add(WaitingFailure(number, "abs", "divergent", culprit=culprit))
    backlog.add_unexplained(UnexplainedFinding(-1, cast("Finding", None)))
    assert order(backlog, places) == [0, -1, 2, 1]


def campaign(out: Path, **more) -> int:
    return fuzz(Options(out, "reference:floor_division", "60s", jobs=1, ops=("divide",), **more))


@pytest.mark.slow
def test_unexamined_failures_stay_in_journal_and_are_reported(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(failures, "SHARE", -1.0)  # nothing while programs are tried
        patch.setattr(failures.FailureQueue, "_has_ended", True)  # and nothing after
        assert campaign(tmp_path, programs=48) == 0
        assert "failing programs were not examined" in capsys.readouterr().err
    with Journal(tmp_path) as journal:
        waiting = journal.open_count()
        assert waiting
        assert journal.findings() == []
    assert campaign(tmp_path, programs=48) == 1
    with Journal(tmp_path) as journal:
        assert journal.open_count() == 0
        assert sum(one.count for one in journal.findings()) == waiting
        assert all(one.told["attribution"]["ways"] for one in journal.findings())

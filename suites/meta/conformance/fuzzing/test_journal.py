"""The journal of a campaign, the places of its failures, and the order of its work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from conformance.errors import UsageError
from conformance.fuzzing import failures
from conformance.fuzzing.backlog import Backlog, UnexplainedFinding, WaitingFailure
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding
from conformance.fuzzing.places import PER_CAUSE, Places
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import FailingProgram, TrialResult
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from suites.meta.support.small_programs import op_program, tensor_of

PROGRAM = op_program("negate", [tensor_of(2)], tensor_of(2))

FINDING = StoredFinding(
    "add-1", "s", "", "divergent", "NaN", "add f32", 1, 3, "t", "m", {"votes": "two"}
)


def test_finding_lists_its_culprits_and_programs(tmp_path: Path) -> None:
    failures = [
        FailingProgram(number, PROGRAM, (), Outcome(Verdict.DIVERGENT, "NaN", culprit=culprit))
        for number, culprit in enumerate(["add f32", "add f32", "add bf16", ""])
    ]
    places = {failure.number: "place" for failure in failures}
    with Journal(tmp_path) as journal:
        journal.add(
            0,
            16,
            TrialResult({"divergent": 4}, tuple(failures), CampaignCoverage(), 1, 0.0),
            places,
        )
        journal.add_finding(0, replace(FINDING, cause="key"), unexplained="all of it")
        journal.settle(1, "add-1")
        journal.settle(3, "add-1", "s2", "add f16")
        assert journal.findings_without_attribution() == [(0, "all of it")]
        assert [number for _, failure in journal.open_failures() if (number := failure.number)] == [
            2
        ]
        assert journal.minimised_failures() == [
            ("place", "add f32", "add-1"),
            ("place", "", "add-1"),
        ]
        journal.explain("add-1", {"votes": "three"})
        assert journal.findings_without_attribution() == []
        (found,) = journal.findings("key")
        assert journal.findings("another key") == []
    assert (found.count, found.told) == (3, {"votes": "three"})
    assert found.culprits == {"add f32": 2, "add f16": 1}
    assert found.signatures == {"s": 1, "s2": 1}


def test_a_journal_of_another_version_is_a_line(tmp_path: Path) -> None:
    with Journal(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        file.execute("PRAGMA user_version = 1")
    with pytest.raises(
        UsageError, match=rf"has format 1, .* reads {Journal.FORMAT}: .* with --fresh"
    ):
        Journal(tmp_path)
    (tmp_path / FILE_NAME).write_text("no database")
    with pytest.raises(UsageError, match="damaged or not a database"):
        Journal(tmp_path)


def test_a_campaign_in_use_is_read_but_not_written_by_others(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*: give the folder of a campaign"):
        Journal(tmp_path, read_only=True)
    with Journal(tmp_path) as journal:
        journal.set_meta({"seconds": 3.0})
        with Journal(tmp_path, read_only=True) as read:
            assert read.meta() == {"seconds": 3.0}
        with pytest.raises(UsageError, match="is in use by another command"):
            Journal(tmp_path)


def test_coverage_is_summed_over_trials(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for start in (0, 16):
            met = CampaignCoverage()
            met.pairs["add", "abs"] += 2
            met.steps["add", "f32"] += 1
            met.choices["pad", "interior", "2"] += start // 16
            journal.add(start, start + 16, TrialResult({"pass": 16}, (), met, 1, 0.0), {})
        assert journal.pairs() == [("add", "abs")]
        found = journal.coverage_counts()
    assert found.pairs == {("add", "abs"): 4}
    assert found.steps == {("add", "f32"): 2}
    assert found.choices == {("pad", "interior", "2"): 1}


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


def test_new_causes_and_culprits_come_before_further_failures() -> None:
    backlog = Backlog(places := Places())
    for number, culprit in enumerate(["abs f32", "abs f32", "abs bf16"]):
        backlog.add(WaitingFailure(number, "abs", "divergent", culprit=culprit))
    backlog.add_unexplained(UnexplainedFinding(-1, cast("Finding", None)))
    assert order(backlog, places) == [0, -1, 2, 1]


def run_campaign(out: Path, **more) -> int:
    return fuzz(Options(out, "reference:floor_division", "60s", jobs=1, ops=("divide",), **more))


@pytest.mark.slow
def test_unexamined_failures_stay_in_journal_and_are_reported(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(failures, "SHARE", -1.0)  # nothing while programs are tried
        patch.setattr(failures.FailureQueue, "_has_ended", True)  # and nothing after
        assert run_campaign(tmp_path, programs=48) == 0
        assert "failing programs were not examined" in capsys.readouterr().err
    with Journal(tmp_path) as journal:
        waiting = journal.open_count()
        assert waiting
        assert journal.findings() == []
    assert run_campaign(tmp_path, programs=48) == 1
    with Journal(tmp_path) as journal:
        assert journal.open_count() == 0
        assert sum(one.count for one in journal.findings()) == waiting
        assert all(one.told["attribution"]["ways"] for one in journal.findings())


def test_earlier_minimisations_count_when_campaign_continues() -> None:
    before = [(ABS, "abs f32", "one")] * PER_CAUSE
    some = Places({ABS: PER_CAUSE}, before)
    assert some.is_settled(ABS, "abs f32")
    assert not some.is_new(ABS)
    assert some.is_new(SINE)


ABS, SINE = "divergent | NaN | abs", "divergent | NaN | sine"

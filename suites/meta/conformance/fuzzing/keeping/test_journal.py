"""The journal of a campaign: reported findings are stored, other versions are refused in a line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import FailingProgram, TrialResult
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from suites.meta.support.small_programs import op_program, tensor_of

PROGRAM = op_program("negate", [tensor_of(2)], tensor_of(2))

FINDING = StoredFinding(
    "add-1", "s", "", "divergent", "NaN", "add f32", 1, 3, "t", "m", {"votes": "two"}
)


def test_findings_are_read_back_with_their_details(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        assert journal.add_finding(0, FINDING)
        assert not journal.add_finding(1, FINDING)
    with Journal(tmp_path) as journal:
        assert journal.findings() == [FINDING]
        assert journal.pairs() == []
        assert journal.modules() == 0


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


def test_a_journal_without_the_log_of_an_older_version_opens(tmp_path: Path) -> None:
    """Before, the tables were created in the open file, which stayed in the mode of a log."""
    with Journal(tmp_path) as journal:
        journal.set_meta({"seconds": 3.0})
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA application_id = 0")
    with Journal(tmp_path, read_only=True) as journal:
        assert journal.meta() == {"seconds": 3.0}


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

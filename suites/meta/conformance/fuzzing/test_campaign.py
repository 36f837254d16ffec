"""Sessions of a campaign and their journal: trials, resuming, order of work."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.backends.registry import parse
from conformance.campaign.planning import FASTEST, cases_of
from conformance.campaign.progress import Watcher
from conformance.catalog import CATALOG
from conformance.errors import UsageError
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.fuzzing import failures
from conformance.fuzzing.backlog import Backlog, UnexplainedFinding, WaitingFailure
from conformance.fuzzing.campaign import Campaign, CampaignSession
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.execution import run_trial
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding
from conformance.fuzzing.places import PER_CAUSE, Places
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.singles import PER_TRIAL, is_single
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import DEFECT, KNOWN_TO_CRASH, FailingProgram, Trial, TrialResult
from conformance.gate.expectations import Expectation
from conformance.limits import Limits
from conformance.pipeline.outcome import Outcome
from conformance.verdict import Verdict
from generators.case.quantized_types import QuantizedColumn
from generators.cells import plan
from reference.ir.program import Program, TensorType
from suites.meta.support.small_programs import op_program, tensor_of
from suites.meta.support.workers import CPU, Workers

LIMITS = Limits(timeout=50.0)
Answer = Callable[[Trial], Any]


class Listener(Watcher):
    """A watcher that keeps the events."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        """Keep an event."""
        self.lines.append(line)


def passing_result(trial: Trial) -> TrialResult:
    return TrialResult({"pass": len(trial)}, (), CampaignCoverage(), 1, 1.0)


def run_session(
    journal: Journal, out: Path, answer: Answer, programs: int, seconds: float = 0.0
) -> tuple[list[tuple[int, int]], list[float], list[str]]:
    """Return the trials that a session makes, their time limits, and its events."""

    def answer_call(call: Call) -> Any:
        assert isinstance(call.name, Trial), call
        assert call.arguments == (call.name,)
        return answer(call.name)

    executor, watcher = Workers(answer_call), Listener()
    campaign = Campaign(out, parse("reference"), seconds, programs, seed=3, limits=LIMITS)
    session = CampaignSession(campaign, (), journal, executor, watcher, CPU)
    assert math.isinf(session.seconds_left) is (seconds == 0)
    session.work()
    made = [(call.name.start, call.name.stop) for call in executor.made]
    assert {call.name.seed for call in executor.made} <= {3}
    return made, [call.timeout for call in executor.made], watcher.lines


def test_programs_are_divided_into_trials(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        made, seconds, lines = run_session(journal, tmp_path, passing_result, 2 * PER_TRIAL + 3)
        assert made == [(0, 16), (16, 32), (32, 35)]
        assert (seconds, lines) == ([50.0] * 3, [])
        assert journal.counts() == Counter({"pass": 35})
        assert journal.meta()["seconds"] > 0


def test_an_earlier_session_is_continued(tmp_path: Path) -> None:
    """Programs 16 to 18 of the second trial were made: its others are generated one by one."""
    with Journal(tmp_path) as journal:
        for start, stop in ((0, PER_TRIAL), (16, 19)):
            journal.add(start, stop, passing_result(Trial("reference", 3, start, stop)), {})
        made, seconds, _ = run_session(journal, tmp_path, passing_result, 3 * PER_TRIAL)
        assert made == [*((n, n + 1) for n in range(19, 32)), (32, 48)]
        assert seconds == [LIMITS.item] * 13 + [50.0]
        assert journal.counts() == Counter({"pass": 48})


def without_program_5(value: object) -> Answer:
    """Return an answer with this value for each trial that has program 5."""
    return lambda trial: value if trial.start <= 5 < trial.stop else passing_result(trial)


def test_a_trial_without_end_is_repeated_program_by_program(tmp_path: Path) -> None:
    """The harness was too slow: no phase of the backend was in progress."""
    with Journal(tmp_path) as journal:
        answer = without_program_5(WorkerTimeout(50.0))
        made, seconds, lines = run_session(journal, tmp_path, answer, 2 * PER_TRIAL)
        assert made == [(0, 16), *((n, n + 1) for n in range(16)), (16, 32)]
        assert seconds == [50.0, *[LIMITS.item] * 16, 50.0]
        assert journal.counts() == Counter({"pass": 31, Verdict.NOT_JUDGED.value: 1})
        assert lines == []


def test_an_error_of_the_harness_is_reported_and_nothing_repeated(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        answer = without_program_5(ValueError("broken"))
        made, _, lines = run_session(journal, tmp_path, answer, 2 * PER_TRIAL)
        assert made == [(0, 16), (16, 32)]
        assert journal.counts() == Counter({"pass": 16, DEFECT: 16})
        report = "a defect of hlo-conformance, please report it"
        assert lines == [f"programs 0 to 15: ValueError: broken; {report}"]


# --- The tally -----------------------------------------------------------------------------------


def test_a_worker_that_crashes_is_a_failure_of_its_program(tmp_path: Path) -> None:
    """The failure is worked on, too: its calls are no trials."""
    others: list[Call] = []

    def answer(call: Call) -> Any:
        if isinstance(call.name, Trial):
            return (
                WorkerCrash("SIGABRT", "oops")
                if call.name.start == 0
                else passing_result(call.name)
            )
        others.append(call)
        return ValueError("not now")

    with Journal(tmp_path) as journal:
        campaign = Campaign(tmp_path, parse("reference"), 0.0, 2, limits=LIMITS)
        session = CampaignSession(campaign, (), journal, Workers(answer), Listener(), CPU)
        session.work()
        assert journal.counts()["crashed"] == 1
        assert journal.counts()["pass"] == 1
    assert others


@pytest.mark.slow
def test_a_single_operation_is_judged_by_its_own_rule() -> None:
    """Within longer programs a root may be off by 1 ulp; in isolation it may not.

    The fault changes the last element of a result, where there is one.
    """
    fault, ops = "reference:off_by_one_last_element", frozenset({"sqrt"})
    passing = 0
    for number in filter(is_single, range(40 * PER_TRIAL)):
        trial = Trial(fault, 3, number, number + 1, ops)
        if "pass" in run_trial(trial).counts:
            assert _may_be_off(case_of(trial, number).program)
            passing += 1
    assert passing < 40


def _may_be_off(program: Program) -> bool:
    """Return whether a program has no element, or a quantized element, whose code may be off by
    one.
    """
    (of,) = program.main.result_types
    return isinstance(of, TensorType) and (0 in of.shape or "quant" in str(of))


def test_programs_with_known_crashes_are_skipped() -> None:
    counts: list[int] = []
    for where in ("stablehlo.", "no such operation"):
        ends = Expectation("ends", ("*",), "", verdicts=("crashed",), where=(where,))
        tried = run_trial(Trial("reference:right", 3, 0, 6, expectations=(ends,)))
        counts.append(tried.counts.get(KNOWN_TO_CRASH, 0))
    assert counts[0] > 0
    assert counts[1] == 0


def test_every_case_of_a_round_comes_before_the_next_round() -> None:
    for backend, quantized in (("reference", True), ("cpu", False)):
        trial = Trial(backend, 3, 0, PER_TRIAL, OPS)
        columns = [(op, column) for op in OPS for column in plan.valid_columns(op)]
        cells = sum(
            cases_of(CATALOG[op], FASTEST)
            for op, one in columns
            if quantized or not isinstance(one, QuantizedColumn)
        )
        length = -(-cells // PER_TRIAL) * PER_TRIAL
        numbers = filter(is_single, count())
        for turn in range(2):
            told = {case_of(trial, n).program.digest for n in islice(numbers, length)}
            assert told == _cells(turn, quantized=quantized)


OPS = frozenset({"reverse", "cbrt"})


def _cells(turn: int, *, quantized: bool) -> set[str]:
    """Return the programs of a round of the plan."""
    found = set()
    for op in OPS:
        size = cases_of(CATALOG[op], FASTEST)
        for column in plan.valid_columns(op):
            if quantized or not isinstance(column, QuantizedColumn):
                cases = plan.cases(op, column, 3, size, turn * size)
                found |= {case.program.digest for case in cases}
    return found


PROGRAM = op_program("negate", [tensor_of(2)], tensor_of(2))

FINDING = StoredFinding(
    "add-1", "s", "", "divergent", "NaN", "add f32", 1, 3, "t", "m", {"votes": "two"}
)


def test_finding_lists_its_culprits_and_programs(tmp_path: Path) -> None:
    failures = [
        FailingProgram(index, PROGRAM, (), Outcome(Verdict.DIVERGENT, "NaN", culprit=culprit))
        for index, culprit in enumerate(["add f32", "add f32", "add bf16", ""])
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
    for index, (place, group) in enumerate(
        [("a", "flushed"), ("a", "flushed"), ("b", "flushed"), ("c", "divergent")]
    ):
        backlog.add(WaitingFailure(index, place, group))
    assert backlog.urgent_count == 3
    assert order(backlog, places) == [0, 3, 2, 1]
    assert len(backlog) == 0


def test_new_causes_and_culprits_come_before_further_failures() -> None:
    backlog = Backlog(places := Places())
    for index, culprit in enumerate(["abs f32", "abs f32", "abs bf16"]):
        backlog.add(WaitingFailure(index, "abs", "divergent", culprit=culprit))
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
        assert sum(finding.count for finding in journal.findings()) == waiting
        assert all(finding.told["attribution"]["ways"] for finding in journal.findings())


def test_earlier_minimisations_count_when_campaign_continues() -> None:
    before = [(ABS, "abs f32", "one")] * PER_CAUSE
    some = Places({ABS: PER_CAUSE}, before)
    assert some.is_settled(ABS, "abs f32")
    assert not some.is_new(ABS)
    assert some.is_new(SINE)


ABS, SINE = "divergent | NaN | abs", "divergent | NaN | sine"

"""Sessions of a campaign: which trials are made, how they are kept, when they end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from conformance.backends.registry import parse
from conformance.campaign.planning import FASTEST, cases_of
from conformance.campaign.progress import Watcher
from conformance.catalog import CATALOG
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.fuzzing.campaign import Campaign, CampaignSession
from conformance.fuzzing.execution import run_trial
from conformance.fuzzing.keeping.journal import Journal
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.singles import PER_TRIAL, is_single
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import DEFECT, KNOWN_TO_CRASH, Trial, TrialResult
from conformance.gate.expectations import Expectation
from conformance.limits import Limits
from conformance.verdict import Verdict
from generators.case.quantized_types import QuantizedColumn
from generators.cells import plan
from reference.ir.program import Program, TensorType
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
        columns = [(op, one) for op in OPS for one in plan.valid_columns(op)]
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
                found |= {one.program.digest for one in cases}
    return found

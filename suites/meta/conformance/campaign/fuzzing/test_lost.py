"""Time that runs out is a backend's fault only where the backend was at work, and again so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.backends.base import Failed, failure_of
from conformance.backends.registry import parse
from conformance.campaign.fuzzing.grouping import place_of
from conformance.campaign.fuzzing.lost import Losses, is_ours
from conformance.campaign.fuzzing.singles import PER_TRIAL
from conformance.campaign.fuzzing.trials import Hit, Trial
from conformance.check.outcome import Outcome
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, Died, TimedOut
from conformance.phases import Phase
from conformance.verdict import Verdict
from generators.cells.plan import coverage
from suites.meta.support.small_programs import array, one, typed


@pytest.mark.parametrize(
    ("names", "ours"),
    [
        ((), True),
        (("execution",), False),
        (("locating", "compilation"), False),
        (("locating",), True),
        (("evaluation",), True),
    ],
)
def test_whose_time_it_was_is_told_by_what_was_going_on(names: tuple[str, ...], ours: bool) -> None:
    before = Phase("execution", 0, 0, 0.1, 0.2)
    phases = tuple(Phase(name, 0, 0, 1.0) for name in names)
    assert is_ours(TimedOut(5.0, (before, *phases))) is ours
    assert is_ours(TimedOut(1.5, (before, *phases)))
    assert not is_ours(Died("SIGSEGV"))


def hit(verdict: Verdict, kind: str) -> Hit:
    program = one("abs", [typed(2)], typed(2))
    return Hit(0, program, (array([-1.0, 2.0]),), Outcome(verdict, kind))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("INTERNAL: no layout", "internal error"),
        ("RESOURCE_EXHAUSTED: 12 bytes", "out of memory"),
        ("Out of memory", "out of memory"),
    ],
)
def test_what_a_backend_answers_has_lost_no_worker(words: str, kind: str) -> None:
    assert failure_of(Failed(words)) == (Verdict.CRASHED, kind)
    with executor_of(parse("reference"), jobs=1) as executor:
        losses = Losses(executor, 10.0)
        assert not losses.is_loss(hit(Verdict.CRASHED, kind))
        assert losses.is_varied(hit(Verdict.CRASHED, kind))
        assert losses.is_loss(hit(Verdict.CRASHED, "abort"))
        assert not losses.is_varied(hit(Verdict.CRASHED, "abort"))


def test_what_was_slow_once_is_no_finding_but_what_died_once_is() -> None:
    with executor_of(parse("reference"), jobs=1) as executor:
        losses, trial = Losses(executor, 10.0), Trial("reference", 0, 0, 1)
        slow, dead = hit(Verdict.TIMED_OUT, "no answer"), hit(Verdict.CRASHED, "abort")
        assert losses.reduced(trial, slow, "reference") is None
        found = losses.reduced(trial, dead, "reference")
    assert found is not None
    assert found.verdict is Verdict.CRASHED


def test_a_campaign_keeps_no_plan_of_what_lost_a_worker() -> None:
    with executor_of(parse("reference"), jobs=1) as executor:
        trial = Trial("reference", 0, PER_TRIAL, PER_TRIAL + 1)
        found = [
            Losses(executor, 10.0).tried(trial, Verdict.CRASHED, "abort", "") for _ in range(2)
        ]
    assert found[0].hits[0].program == found[1].hits[0].program
    assert coverage.cache_info().currsize == 0


def test_a_backend_that_hangs_every_time_is_found() -> None:
    with executor_of(parse("reference:hang"), jobs=1) as executor:
        executor.one(Call("", len, ((),), 60.0))  # that it starts costs time, too
        losses, trial = Losses(executor, 6.0), Trial("reference:hang", 0, 0, 1)
        slow = hit(Verdict.TIMED_OUT, "no answer")
        found = losses.reduced(trial, slow, "reference:hang", seconds=2.0)
    assert found is not None
    assert found.verdict is Verdict.TIMED_OUT


def test_what_is_said_of_a_program_without_results_says_what_is_likely_the_same() -> None:
    def place(message: str, verdict: Verdict = Verdict.REJECTED) -> str:
        told = hit(verdict, "abort" if verdict is Verdict.CRASHED else "refused as invalid")
        return place_of(replace(told, outcome=replace(told.outcome, message=message)))

    assert place("line 3, column 5: padding is -2") == place("line 10, column 5: padding is -1")
    assert place("line 3, column 5: padding") != place("line 3, column 5: dilation")
    ended = "the process ended with SIGABRT: hlo.cc:{}] Check failed: {}"
    first, other, last = (
        place(ended.format(*one), Verdict.CRASHED) for one in ((1, "a"), (2, "a"), (2, "b"))
    )
    assert first == other != last
    assert place("the process ended with SIGSEGV", Verdict.CRASHED).endswith("abs")

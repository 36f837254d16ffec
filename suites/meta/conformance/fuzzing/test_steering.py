"""Steering: it covers more than unsteered drawing with the same budget, and is deterministic."""

from __future__ import annotations

import pytest

from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.steering.steering import LAG, Steering
from conformance.fuzzing.trial import Trial, TrialResult
from generators.chains.guide import Guide
from generators.chains.strategy import program_at
from reference.interpreter.verify import check
from reference.ir.program import Program

PROGRAMS, PER_TRIAL = 640, 16


def trial_result(met: CampaignCoverage) -> TrialResult:
    return TrialResult({}, (), met, 0, 0.0)


def campaign(*, guided: bool) -> tuple[CampaignCoverage, list[Program]]:
    """Return the coverage of so many programs, tried one after the other, and the programs."""
    steering, total, programs = (
        Steering(CampaignCoverage(), 1, PER_TRIAL),
        CampaignCoverage(),
        list[Program](),
    )
    for start in range(0, PROGRAMS, PER_TRIAL):
        trial, met = Trial("reference", 5, start, start + PER_TRIAL), CampaignCoverage()
        told = steering.steer(trial).met if guided else None
        for number in range(start, start + PER_TRIAL):
            guide = Guide(told)
            programs.append(program_at(5, number, guide=guide).program)
            met.note(programs[-1], guide)
        steering.add(start, trial_result(met), {})
        total.add(met)
    return total, programs


def count_taken(met: CampaignCoverage) -> int:
    return sum(count > 0 for count in met.choices.values())


@pytest.mark.slow
def test_guided_campaign_covers_more_with_as_many_programs() -> None:
    (blind, _), (guided, programs) = campaign(guided=False), campaign(guided=True)
    assert len(guided.pairs) > 1.1 * len(blind.pairs)
    assert len(guided.steps) > 1.1 * len(blind.steps)
    assert count_taken(guided) > 1.05 * count_taken(blind)
    assert [program for program in programs if check(program)] == []


def test_steering_depends_on_trial_numbers_not_on_completion_order() -> None:
    ended: list[TrialResult] = []
    for number in range(2 * LAG):
        met = CampaignCoverage()
        met.pairs["add", ("abs", "negate")[number % 2]] += 1
        met.steps["add", "f32"] += 1
        ended.append(trial_result(met))
    orders = range(2 * LAG), (*range(1, 2 * LAG), 0)
    told = []
    for order in orders:
        steering = Steering(CampaignCoverage(), 1, PER_TRIAL)
        for number in order:
            steering.add(PER_TRIAL * number, ended[number], {})
        told.append(steering.steer(Trial("", 0, PER_TRIAL * (LAG + 2), 0)).met)
    assert told[0] is not None
    assert told[0] == told[1]
    assert max(told[0].pairs["add"]) == 2  # of trials 0 to 2


def test_coverage_of_earlier_sessions_counts() -> None:
    met = CampaignCoverage()
    met.choices["pad", "interior", "2"] += 0
    met.choices["pad", "interior", "0"] += 9
    met.pairs["add", "abs"] += 300
    told = Steering(met, 1, PER_TRIAL).steer(Trial("", 0, 0, 0)).met
    assert told is not None
    assert told.wanted == {"pad": (("interior", "2"),)}
    assert max(told.pairs["add"]) == 255

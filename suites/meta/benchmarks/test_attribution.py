"""The comparison of stages with the search: agreements, times, and one counterexample."""

from __future__ import annotations

import pytest

from benchmarks.attribution import Agreement, Comparison, compare, lines_of
from conformance.executors.local import LocalExecutor
from conformance.fuzzing.trial import Trial
from conformance.gate.reading import load
from conformance.localize.culprit import Culprit, Step
from conformance.results.versions import versions

PASS = str(Culprit(Step.PASS, "algsimp", "simplification"))
GENERATED = Step.CODE_GENERATION.value
REVERSAL = "reversal-of-a-window-as-large-as-the-image"


@pytest.mark.parametrize(
    ("by_stages", "by_search", "agreement"),
    [
        (PASS, ("fusion", "algsimp"), Agreement.SAME_PASS),
        (PASS, ("fusion",), Agreement.OTHER_PASS),
        (PASS, (), Agreement.ONLY_STAGES),
        (GENERATED, ("fusion",), Agreement.ONLY_SEARCH),
        (GENERATED, (), Agreement.NO_PASS),
        (Step.TRANSLATION.value, (), Agreement.NO_PASS),
        ("", ("algsimp",), Agreement.NO_STAGES),
        (PASS, None, Agreement.NO_SEARCH),
    ],
)
def test_answers_agree_if_they_blame_the_same_pass_or_none(
    by_stages: str, by_search: tuple[str, ...] | None, agreement: Agreement
) -> None:
    assert Comparison("an-entry", by_stages, by_search, 1.0, 1.0).agreement is agreement


def test_report_counts_agreements_names_differences_and_compares_times() -> None:
    lines = list(
        lines_of(
            [
                Comparison("alike", PASS, ("algsimp",), 1.0, 8.0),
                Comparison("fused", GENERATED, ("fusion",), 1.0, 12.0),
                Comparison("silent", "", ("algsimp",), 100.0, 1.0),
                Comparison("hangs", PASS, None, 1.0, 60.0),
            ]
        )
    )
    assert lines[0] == "4 counterexamples with a wrong result"
    assert f"     1  {Agreement.SAME_PASS.value}" in lines
    assert f"fused: {GENERATED}; right without: fusion" in lines
    assert lines[-3:] == [
        "where both answer: 2.0 s by stages, 20.0 s by search (0.10)",
        "not counted: 1 search that hangs or crashes, stopped after 60.0 s in all",
        "not counted: 1 counterexample without an answer by stages, which took 100.0 s",
    ]


@pytest.mark.slow
def test_both_ways_blame_the_simplifier_for_one_of_its_rewritings() -> None:
    entries = load(None, ("cpu",), versions())
    trial = Trial("cpu", 0, 0, 1, expectations=tuple(entries))
    some = [one for one in entries if one.id == REVERSAL]
    with LocalExecutor(1) as executor:
        (found,) = compare(executor, trial, some, 60.0)
    assert found.agreement is Agreement.SAME_PASS
    assert found.by_search == ("algsimp",)


@pytest.mark.slow
def test_program_that_ends_both_workers_is_left_out() -> None:
    entries = load(None, ("cpu",), versions())
    trial = Trial("cpu", 0, 0, 1, expectations=tuple(entries))
    some = [one for one in entries if one.id == REVERSAL]
    with LocalExecutor(1) as executor:
        assert list(compare(executor, trial, some, 1e-3)) == []

"""Cases on which backends differ: groups that differ alike, examples, and counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.verdict import Verdict
from reports import view
from reports.page import comparison as module
from reports.page.cells import STATES, Tables
from reports.page.comparison import EXAMPLES, difference_rows
from suites.meta.support import synthetic_run as synthetic

BACKENDS = ("one", "other", "third")


def tables(failing: int, backend: str = "third", verdict: Verdict = Verdict.DIVERGENT) -> Tables:
    """Return three backends that agree, but for the first cases of an op on one of them."""
    run = synthetic.run("passing")
    records = [replace(one, backend=name) for name in BACKENDS for one in run.records]
    first = [one.id for one in records if one.backend == backend and one.op == "add"][:failing]
    records = [
        replace(one, verdict=verdict, kind="saturation") if one.id in first else one
        for one in records
    ]
    planned = tuple((op, of, name) for name in BACKENDS for op, of, _ in run.planned)
    described = tuple(replace(run.backends[0], name=name) for name in BACKENDS)
    return Tables(view.build(replace(run, records=records, planned=planned, backends=described)))


def test_the_backend_that_differs_from_all_others_is_named() -> None:
    made = tables(2)
    found = difference_rows(made)
    assert found["differing"] == 2
    assert found["alone"] == [[made.backend("third"), 2]]
    (group, *_) = found["groups"]
    alone, op, _, answers, count, examples, of_support = group
    assert (alone, op) == (made.backend("third"), made.op("add"))
    assert count == len(examples)
    assert of_support == 0
    verdicts = {backend: STATES[state] for backend, state, *_ in answers}
    assert verdicts[made.backend("third")] == "divergent"
    assert verdicts[made.backend("one")] == "pass"


def test_a_refusal_is_a_difference_of_support() -> None:
    assert difference_rows(tables(1, verdict=Verdict.UNSUPPORTED))["of_support"] == 1
    assert difference_rows(tables(1))["of_support"] == 0


def test_backends_that_agree_have_no_groups() -> None:
    found = difference_rows(tables(0))
    assert (found["differing"], found["groups"]) == (0, [])
    assert found["compared"] > 0


def test_cases_beyond_a_few_examples_are_counted() -> None:
    (group, *_) = difference_rows(tables(6))["groups"]
    assert (group[4], len(group[5])) == (6, EXAMPLES)


def test_groups_beyond_the_most_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 0)
    found = difference_rows(tables(2))
    assert (found["groups"], found["omitted"]) == ([], 1)

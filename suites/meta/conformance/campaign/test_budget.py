"""Runs with a time limit: fair, resumable, with a report of the omitted cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from conformance.campaign import budget, runner, session
from conformance.campaign.budget import cut_into_rounds, rounds, seconds_of
from conformance.campaign.planning import Options, plan
from conformance.campaign.runner import run
from conformance.errors import UsageError
from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import Kind, compare
from conformance.gate.conclusion import exit_code, floor_lines, scope_line
from conformance.results.left_out import LeftOut
from conformance.results.lines import lines_of
from conformance.results.summary import RunData, load
from conformance.verdict import Verdict

TYPES = ("f32", "si8", "bf16")


def options(out: Path, **given) -> Options:
    made = Options(out, ("reference",), ("add", "abs", "negate"), TYPES, "standard", jobs=1)
    return replace(made, **given)


class Clock:
    """A clock that advances by one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def limited_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: float, **given) -> RunData:
    """Return a run that ends after the time has been looked at so often."""
    with monkeypatch.context() as patch:
        clock = Clock()
        patch.setattr(budget, "monotonic", clock)
        patch.setattr(runner, "monotonic", lambda: 0.0)
        patch.setattr(session, "monotonic", lambda: 0.0)
        return run(options(tmp_path, budget=looks, **given))


def test_every_cell_has_its_first_helping_before_any_has_its_second() -> None:
    planned = plan(options(Path("nowhere"), ops=("a*",), element_types=()))
    found = rounds(cut_into_rounds(planned.tasks), 0)
    assert {task.start for task in found[0]} == {0}
    assert {task.cell for task in found[0]} == {*planned.cells}
    assert [task.start for part in found for task in part] == sorted(
        task.start for part in found for task in part
    )
    assert sum(map(len, found)) == len(cut_into_rounds(planned.tasks))
    ops = [list(dict.fromkeys(t.cell.op for t in rounds(found[0], seed)[0])) for seed in (0, 1)]
    assert ops[0] != ops[1]  # whom a limit leaves out is another with each seed
    assert sorted(ops[0]) == sorted(ops[1])
    for part in found:  # cells of an op come together, as they are one module
        names = [task.cell.op for task in part]
        assert [name for name, _ in groupby(names)] == [*dict.fromkeys(names)]


@pytest.mark.slow
def test_cases_left_out_by_budget_are_reported_and_run_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(options(tmp_path / "whole"))
    done = limited_run(tmp_path / "out", monkeypatch, 12)
    counts = Counter((record.op, record.element_type) for record in done.records)
    assert 0 < len(done.records) < len(whole.records)
    assert max(counts.values()) - min(counts[cell] for cell in counts) <= 4
    assert done.exit_code == 0
    left = sum(one.cases for one in done.left_out)
    assert left >= len(whole.records) - len(done.records)
    (line,) = (line for line in lines_of(done, "{}") if line.startswith("left out by --budget: "))
    assert f"up to {left} programs of {len(done.left_out)} cells" in line
    assert load(tmp_path / "out").left_out == done.left_out
    assert [one.cases for one in done.report.left_out] == [one.cases for one in done.left_out]
    resumed = run(options(tmp_path / "out"))  # without a limit
    assert resumed.left_out == ()
    assert resumed.records == whole.records
    assert resumed.errors == whole.errors


@pytest.mark.slow
def test_spent_budget_runs_nothing_and_larger_budget_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(options(tmp_path, budget=1e-9))
    assert (first.records, first.exit_code) == ([], 4)
    done = limited_run(tmp_path, monkeypatch, 6)
    assert len(done.records) > 0
    more = limited_run(tmp_path, monkeypatch, 12)
    assert len(done.records) < len(more.records)


@pytest.mark.slow
def test_left_out_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(options(tmp_path / "whole"))
    baseline = ReadBaseline("base.txt", baseline_of(whole))
    done = limited_run(tmp_path / "out", monkeypatch, 6, baseline=baseline)
    found = compare(done, baseline)
    missing = len(whole.records) - len(done.records)
    assert (found.counts[Kind.LOST], found.left_out) == (0, missing)
    assert (done.exit_code, exit_code(done, comparison=found)) == (0, 0)
    assert f"{missing} cases that were not run, as the time of --budget was over" in scope_line(
        found
    )
    # what is missing for any other reason is lost, though
    lost = compare(replace(done, left_out=()), baseline)
    assert lost.counts[Kind.LOST] == missing
    other_seed = replace(baseline, baseline=replace(baseline.baseline, seed=7))
    nothing = replace(done, records=[r for r in done.records if r.op != "abs"])
    spans = tuple(LeftOut(*key, ((0, 99),)) for key in done.planned)
    assert compare(replace(nothing, left_out=spans), other_seed).counts[Kind.LOST] == 0
    assert compare(replace(nothing, left_out=()), other_seed).counts[Kind.LOST] >= len(TYPES)


def test_floor_counts_cases_left_out_by_budget(tmp_path: Path) -> None:
    given = options(tmp_path, ops=("add", "abs"))
    whole = run(given)
    few = [record for record in whole.records if record.op == "add"]
    spans = tuple(LeftOut(*key, ((0, 9),)) for key in whole.planned if key[0] == "abs")
    cut = replace(whole, records=few, left_out=spans)
    assert exit_code(cut) == 0
    assert exit_code(replace(cut, left_out=())) == 1  # untested, and nobody said why
    assert exit_code(cut, at_least=0.6) == 1
    assert exit_code(cut, at_least=0.5) == 0
    assert floor_lines(cut, 0.6)[0].startswith("too few cells: 3 of 6 planned")


def test_failure_within_budget_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("reference:one_wrong_element",)
    done = limited_run(tmp_path, monkeypatch, 6, backends=given)
    assert done.left_out
    assert {record.verdict for record in done.records} >= {Verdict.DIVERGENT}
    assert done.exit_code == 1


def test_a_time_that_cannot_be_is_a_line() -> None:
    assert seconds_of("1.5m") == 90.0
    for wrong in ("", "10", "0s", "-1m", "1d"):
        with pytest.raises(UsageError, match="--budget takes a time such as 90s"):
            seconds_of(wrong)

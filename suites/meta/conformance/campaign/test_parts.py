"""Parts of a run: shards that are merged, and cases that a budget leaves out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign import budget, runner, session
from conformance.campaign.budget import seconds_of
from conformance.campaign.merging import merge_runs
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.errors import UsageError
from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import Kind, compare
from conformance.gate.conclusion import exit_code, floor_lines, scope_line
from conformance.results.database import StoreError
from conformance.results.left_out import LeftOut
from conformance.results.lines import lines_of
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData, load
from conformance.verdict import Verdict

OPTIONS = Options(
    out=Path(), backends=("reference",), ops=("or", "not", "and"), element_types=("i1", "si8"),
    profile="smoke", jobs=1,
)  # fmt: skip
PARTS = 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return run(replace(OPTIONS, out=tmp_path_factory.mktemp("whole")))


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("shard") for _ in range(PARTS)]
    for index, folder in enumerate(folders, 1):
        run(replace(OPTIONS, out=folder, shard=(index, PARTS)))
    return folders


@pytest.fixture(scope="module")
def run_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of another backend, on which an op is not supported."""
    out = tmp_path_factory.mktemp("elsewhere")
    run(replace(OPTIONS, out=out, backends=("reference:unsupported@not",)))
    return out


def records_without_times(run: RunData) -> list[dict[str, Any]]:
    """Return the cells of a run's summary without the seconds that they took."""
    return [{**cell, "seconds": None} for cell in run.summary["cells"]]


@pytest.mark.slow
def test_shards_are_the_same_as_the_whole_run(whole, shards, tmp_path: Path) -> None:
    merged, missing = merge_runs(shards, tmp_path, "a command")
    assert missing == []
    for field in ("records", "planned", "filtered", "filters", "coverage", "backends", "versions",
                  "seed", "profile", "identity", "exit_code", "errors"):  # fmt: skip
        assert getattr(merged, field) == getattr(whole, field), field
    assert records_without_times(whole) == records_without_times(merged)
    assert merged.modules >= whole.modules
    assert load(tmp_path).records == merged.records
    again, _ = merge_runs(shards, tmp_path, "a command")  # over what an earlier merge left
    assert again.records == merged.records


def test_a_missing_shard_is_said_and_fails(whole, shards, tmp_path: Path) -> None:
    merged, (line,) = merge_runs([shards[0], shards[2]], tmp_path, "")
    absent = len(load(shards[1]).planned)
    assert line == f"missing: shard 2/3 of reference, {absent} cells that were not tested"
    assert merged.planned == whole.planned
    assert sum(cell.state == "untested" for cell in merged.cells.values()) == absent > 0
    assert merged.exit_code == exit_code(merged) == 1


def test_runs_of_other_backends_are_merged(whole, shards, run_elsewhere, tmp_path: Path) -> None:
    merged, missing = merge_runs([*shards, run_elsewhere], tmp_path, "")
    assert missing == []
    there = load(run_elsewhere)
    ours = [record for record in merged.records if record.backend == "reference"]
    assert ours == whole.records
    assert [one for one in merged.records if one not in ours] == there.records
    assert {*merged.planned} == {*whole.planned, *there.planned}
    assert {*merged.filtered}.isdisjoint(merged.planned)
    assert [backend.name for backend in merged.backends] == [
        "reference", "reference:unsupported@not",
    ]  # fmt: skip


def test_a_run_that_did_not_end_is_said_and_fails(shards, tmp_path: Path) -> None:
    copied = tmp_path / "copy" / FILE_NAME
    copied.parent.mkdir()
    copied.write_bytes((shards[0] / FILE_NAME).read_bytes())
    with Store(copied) as store:
        store.set_meta({"exit_code": None})
    merged, (line,) = merge_runs([copied.parent, *shards[1:]], tmp_path / "merged", "")
    assert line == f"unfinished: the run in {copied.parent} did not end: give its command again"
    assert merged.exit_code == 1


def test_shards_of_two_builds_of_a_backend_are_refused(shards, tmp_path: Path) -> None:
    copied = tmp_path / "copy" / FILE_NAME
    copied.parent.mkdir()
    copied.write_bytes((shards[0] / FILE_NAME).read_bytes())
    with Store(copied) as store:
        (backend,) = store.meta()["backends"]
        versions = [*backend["versions"], ["library", "libpjrt.so sha256 88c3f28c5900"]]
        store.set_meta({"backends": [backend | {"versions": versions}]})
    said = "library of reference libpjrt.so sha256 88c3f28c5900 and unknown"
    with pytest.raises(UsageError, match=said):
        merge_runs([copied.parent, shards[1]], tmp_path / "out", "")


@pytest.mark.slow
def test_unmergeable_runs_are_one_line(shards, run_elsewhere, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run(replace(OPTIONS, out=other, ops=("or",), seed=1, shard=(2, 4)))
    for given, said in (
        ([shards[0], shards[0]], "both are part 1/3"),
        ([shards[0], other], "op or,not,and and or"),
        ([shards[0], other], "seed 0 and 1"),
        ([shards[0], other], "shards of 3 and of 4 parts"),
        ([run_elsewhere, other], "seed 0 and 1"),
    ):
        with pytest.raises(UsageError, match=said) as refused:
            merge_runs(given, tmp_path / "out", "")
        assert str(refused.value).startswith(f"{given[0]} and {given[1]} cannot be merged: ")
        assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="is one of the runs: choose another --out"):
        merge_runs(shards, shards[1], "")
    with pytest.raises(UsageError, match="holds a run that was not merged"):
        merge_runs(shards, run_elsewhere, "")
    with pytest.raises(StoreError, match="there is no"):
        merge_runs([shards[0], tmp_path / "none"], tmp_path / "out", "")
    assert len(load(shards[1]).records) > 0


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

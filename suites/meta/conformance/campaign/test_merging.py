"""Merged runs: shards equal the whole run; missing or unsuitable parts are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.merging import merge_runs
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.errors import UsageError
from conformance.gate.conclusion import exit_code
from conformance.results.database import StoreError
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData, load

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
    for number, folder in enumerate(folders, 1):
        run(replace(OPTIONS, out=folder, shard=(number, PARTS)))
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

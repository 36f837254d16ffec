"""Campaigns on the fake backend: faults are found and minimised, nothing else is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.fuzzing import command
from conformance.fuzzing.command import Options, fuzz, seconds_of
from conformance.fuzzing.keeping.collection import load_findings
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding


def campaign(out: Path, backend: str, programs: int = 16, **more) -> int:
    options = Options(out, backend, budget="60s", programs=programs, jobs=1, **more)
    return fuzz(options)


def findings(out: Path) -> list[dict]:
    return json.loads((out / "campaign.json").read_text())["findings"]


@pytest.mark.slow
def test_campaign_on_reference_finds_nothing(tmp_path: Path) -> None:
    assert campaign(tmp_path, "reference", 96) == 0
    assert findings(tmp_path) == []
    with Journal(tmp_path) as journal:
        assert journal.counts().total() == 96
        assert journal.counts()["pass"] > 90
        assert journal.pair_count() > 100


@pytest.mark.slow
def test_fault_is_found_minimised_and_saved(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert campaign(out, "reference:floor_division", 64, ops=("divide",)) == 1
    found = findings(out)
    assert found
    coded = 4  # operands and results of a quantized operation are made and taken as numbers
    assert all(one["operations"] <= (coded if "!quant" in one["text"] else 2) for one in found)
    assert "divide" in found[0]["text"]
    folder = out / "findings" / found[0]["name"]
    names = {path.name for path in folder.iterdir()}
    assert names >= {"program.mlir", "inputs.npz", "expected.npz", "actual.npz", "finding.json"}
    assert names >= {"reproduce.py", "issue.md"}
    assert "hlo-conformance check program.mlir" in (folder / "issue.md").read_text()


@pytest.mark.slow
def test_a_corpus_is_looked_at_first(tmp_path: Path, capsys) -> None:
    corpus = tmp_path / "corpus"
    fault = "reference:floor_division"
    assert campaign(tmp_path / "1", fault, 32, ops=("divide",), corpus=corpus) == 1
    (folder, *_) = corpus.iterdir()
    capsys.readouterr()
    campaign(tmp_path / "2", fault, 1, corpus=corpus)
    assert f"{folder.name}: still there: divergent" in capsys.readouterr().err
    campaign(tmp_path / "3", "reference", 1, corpus=corpus)
    assert f"{folder.name}: gone" in capsys.readouterr().err


@pytest.mark.slow
def test_crash_is_found_and_minimised(tmp_path: Path) -> None:
    assert campaign(tmp_path, "reference:abort_on_large", 16) == 1
    found = findings(tmp_path)
    assert {one["verdict"] for one in found} == {"crashed"}
    assert min(one["operations"] for one in found) <= 1


@pytest.mark.slow
def test_campaign_resumes_where_it_stopped(tmp_path: Path) -> None:
    campaign(tmp_path, "reference", 16)
    campaign(tmp_path, "reference", 48)
    with Journal(tmp_path) as journal:
        assert [start for start, _ in journal.ended_trials()] == [0, 16, 32]
        assert journal.counts().total() == 48


@pytest.mark.slow
def test_other_expectations_are_another_campaign(tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine.toml"
    entry = '[[known]]\nid = "{}"\nop = "sine"\nreason = "{}"\nverdicts = ["flushed"]\n'
    mine.write_text(entry.format("flushes", "it flushes"))
    given = {"ops": ("divide",), "expectations": str(mine)}
    campaign(out, "reference", 16, **given)
    mine.write_text(entry.format("flushes", "another reason for the same"))
    campaign(out, "reference", 16, **given)
    for other in (entry.format("flushes-too", "it flushes"), ""):
        mine.write_text(other)
        with pytest.raises(UsageError, match=r"expectations .* there and .* here: choose another"):
            campaign(out, "reference", 16, **given)
    with pytest.raises(UsageError, match=r"mine.toml \(1 entry, \w+\) there and shipped \(0"):
        campaign(out, "reference", 16, ops=("divide",))
    campaign(out, "reference", 16, ops=("divide",), fresh=True)


@pytest.mark.parametrize("text", [None, "no JSON", "[]", '{"verdict": "odd"}', "{}"])
def test_findings_that_cannot_be_read_are_a_line(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "program.mlir").write_text("func")
        (tmp_path / "one" / "finding.json").write_text(text)
    with pytest.raises(UsageError, match=r"^--findings: .*") as caught:
        load_findings([tmp_path])
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="--findings: there is no "):
        load_findings([tmp_path / "nowhere"])


@pytest.mark.slow
def test_killed_campaign_keeps_reported_findings(tmp_path: Path) -> None:
    words = ("fuzz", "--backend", "reference", "--budget", "60s", "--jobs", "1", "--out", tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "conformance", *map(str, words)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    told = 0
    while not told and process.poll() is None:
        time.sleep(0.05)
        if (tmp_path / FILE_NAME).exists():
            with Journal(tmp_path, read_only=True) as journal:
                told = journal.counts().total()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert told
    with Journal(tmp_path) as journal:
        assert journal.counts().total() >= told
        before = journal.ended_trials()
    assert campaign(tmp_path, "reference", max(stop for _, stop in before) + 16) == 0
    with Journal(tmp_path) as journal:
        assert journal.ended_trials()[: len(before)] == before


def test_campaign_with_other_options_is_refused(tmp_path: Path) -> None:
    campaign(tmp_path, "reference", 16)
    with pytest.raises(UsageError, match="seed 0 there and 1 here"):
        campaign(tmp_path, "reference", 16, seed=1)


@pytest.mark.parametrize("budget", ["", "soon", "5", "0s", "-3m"])
def test_budgets_that_are_none(budget: str) -> None:
    with pytest.raises(UsageError, match="such as 90s"):
        seconds_of(budget)


def test_ops_that_no_chain_can_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean"):
        command.fuzz(Options(tmp_path, "reference", ops=("ad",)))
    with pytest.raises(UsageError, match="one process"):
        command.fuzz(Options(tmp_path, "reference", ops=("all_reduce",)))


def test_culprit_pass_of_finding_is_printed(tmp_path: Path, capsys) -> None:
    given = StoredFinding("add-1", "s", "", "divergent", "NaN", "add f32", 1, 3, "t", "m", {})
    told = {"attribution": {"vanishes": ["without pass algsimp"]}}
    with Journal(tmp_path) as journal:
        journal.add_finding(0, replace(given, told=told))
        journal.add_finding(1, replace(given, name="add-2"))
    assert campaign(tmp_path, "reference", 1) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert ", gone without pass algsimp: " in first
    assert "gone" not in second

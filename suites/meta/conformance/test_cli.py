"""The command line: output, files, and exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conformance.campaign.planning import PROFILES
from conformance.results.store import FILE_NAME
from suites.meta.support.command_line import SMOKE, command, run_here

FILES = ["index.html", "junit.xml", "results.sqlite", "summary.json", "summary.md"]


def test_a_run_writes_five_files(call, tmp_path: Path) -> None:
    code, out, _ = run_here(call, tmp_path)
    assert code == 0
    assert "1 of 1 cells tested" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    summary = json.loads((tmp_path / "summary.json").read_text())
    wanted = {"cases", "values", "modules", "seconds", "verdicts", "cells", "versions", "seed"}
    assert wanted <= summary.keys()
    assert summary["cases"] == PROFILES["smoke"]
    assert summary["verdicts"]["pass"] == PROFILES["smoke"]
    assert summary["cells"][0]["op"] == "add"
    assert re.search(r'<testcase [^>]*time="0\.0*[1-9]', (tmp_path / "junit.xml").read_text())
    assert summary["exit_code"] == 0
    assert {"parent", "worker"} == summary["peak_rss_mb"].keys()
    assert {"jax", "jaxlib", "numpy", "python"} <= summary["versions"].keys()


@pytest.mark.slow
def test_a_divergence_exits_with_1_and_can_be_replayed(call, tmp_path: Path) -> None:
    code, out, _ = run_here(call, tmp_path, "reference:one_wrong_element")
    assert code == 1
    assert "new: add-f32-reference:one_wrong_element-0: divergent" in out
    assert f"replay add-f32-reference:one_wrong_element-0 --db {tmp_path}" in out
    code, out, _ = call("replay", "add-f32-reference:one_wrong_element-0", "--db", tmp_path)
    assert code == 1
    for shown in ("stablehlo.add", "expected", "actual", "0x", "recorded: divergent", "now: "):
        assert shown in out
    told = [line for line in out.splitlines() if line.startswith(("recorded:", "now:"))]
    recorded, now = (line.split(":", 1)[1].strip() for line in told)
    assert recorded == now
    assert "beside them, new: divergent" in out
    assert out.splitlines()[-1] == "new: no expectation matches it"


def test_a_case_that_passed_is_replayed_from_its_seed(call, finished_run: Path) -> None:
    code, out, _ = call("replay", "add-f32-reference-1", "--db", finished_run / FILE_NAME)
    assert code == 0
    assert "now:      pass" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("batch_only", "only in batch"),
        ("abort", "crashed (abnormal exit)"),
        ("device_error", "the process ended with exit code 86"),
    ],
)
def test_failures_of_batches_and_crashes_can_be_replayed(
    call, tmp_path, fault: str, said: str
) -> None:
    run_here(call, tmp_path, f"reference:{fault}")
    code, out, _ = call("replay", f"add-f32-reference:{fault}-0", "--db", tmp_path)
    assert code == 1
    assert any(line.startswith("now:") and said in line for line in out.splitlines())


@pytest.mark.slow
def test_replay_names_the_expectation_of_the_run_that_matches(call, tmp_path: Path) -> None:
    entry = '[[known]]\nid = "changed"\nop = "add"\nreason = "One element\\nis wrong."\n'
    (tmp_path / "known.toml").write_text(entry)
    given = ("--expectations", tmp_path / "known.toml")
    run_here(call, tmp_path / "run", "reference:one_wrong_element", *given)
    shown = ("replay", "add-f32-reference:one_wrong_element-0", "--db", tmp_path / "run")
    code, out, _ = call(*shown)
    assert code == 1
    assert out.splitlines()[-1] == "known: changed: One element is wrong."


@pytest.mark.slow
def test_replay_shows_the_program_in_either_form(call, tmp_path: Path) -> None:
    run_here(call, tmp_path, "reference:one_wrong_element")
    shown = ("replay", "add-f32-reference:one_wrong_element-0", "--db", tmp_path)
    assert " = stablehlo.add %" in call(*shown)[1]
    assert ' = "stablehlo.add"(%' in call(*shown, "--generic")[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "hlo-conformance: give one of the commands above\n"),
        (("baseline",), "hlo-conformance: give one of the commands above\n"),
        (("check", "a.mlir", "--format", "pdf"), "'--format': 'pdf' is not one of 'text', 'json'"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_line(call, given: tuple[str, ...], said: str) -> None:
    code, _, err = call(*given)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def test_replay_names_the_nearest_ids(call, finished_run: Path) -> None:
    code, _, said = call("replay", "ad-f32-reference-1", "--db", finished_run)
    assert code == 2
    assert "did you mean add-f32-reference-1" in said


def test_reports_are_written_again(call, finished_run: Path, tmp_path: Path) -> None:
    code, _, _ = call("report", finished_run / FILE_NAME, "--out", tmp_path / "again")
    assert code == 0
    for name in FILES:
        if name != FILE_NAME:
            again = (tmp_path / "again" / name).read_text()
            assert again == (finished_run / name).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("unsupported", "lost: add f32 on reference:unsupported, 2 cases: pass → unsupported"),
        ("unsupported@add", "0 new, 2 lost, 0 fixed"),
        ("reject", "0 new, 2 lost, 0 fixed"),
        ("abort_on_compile@add", "0 new, 2 lost, 0 fixed"),
        ("off_by_100_ulp", "2 new, 0 lost, 0 fixed"),
        ("unsupported@exponential", "0 new, 0 lost, 0 fixed"),
    ],
)
def test_a_run_is_compared_with_a_baseline(
    call, finished_run: Path, tmp_path: Path, fault: str, said: str
) -> None:
    code, out, _ = run_here(call, tmp_path, f"reference:{fault}", "--baseline", finished_run)
    assert code == (0 if "0 new, 0 lost" in said else 1)
    assert said in out
    again = ("report", tmp_path, "--baseline", finished_run)
    assert (call(*again)[0], call("report", tmp_path)[0]) == (code, 0)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["exit_code"] == code
    code, out, _ = call("report", finished_run, "--out", tmp_path / "back", "--baseline", tmp_path)
    assert code == 0
    assert "0 new, 0 lost" in out


def test_a_shard_without_cells_says_so(call, tmp_path: Path) -> None:
    given = ("--op", "or", "--element-type", "i1", "--profile", "smoke", "--shard", "2/3")
    code, _, errors = call("run", "--backend", "reference", *given, "--out", tmp_path)
    assert code == 4
    assert "shard 2/3 has no cell, as there are too few for so many parts" in errors


@pytest.mark.slow
def test_interrupting_exits_with_130_and_keeps_what_was_done(tmp_path: Path) -> None:
    given = command("run", "--backend", "reference:hang", *SMOKE, "--out", tmp_path)
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (tmp_path / FILE_NAME).exists():
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.decode().count("\n") == 1
    assert b"interrupted" in errors

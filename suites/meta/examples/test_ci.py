"""The example workflows: valid to their systems, with commands that work."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from docs.tools.pages import ROOT
from docs.tools.parsing import parse
from suites.meta.examples.workflows import EXAMPLES, Step, github, gitlab

NAME = "hlo-conformance"
CELLS = "--op tanh --element-type f16 --element-type f32 --element-type f64 --jobs 1"
WORKFLOWS = {"github": github, "gitlab": gitlab}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("github", ["--builtin-schema", "vendor.github-workflows"]),
        ("gitlab", ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]),
    ],
)
def test_a_workflow_is_valid(name: str, given: list[str], tmp_path: Path) -> None:
    file = EXAMPLES / "ci" / f"{name}.yml"
    assert _is_valid(file, given) == 0
    broken = tmp_path / "broken.yml"
    broken.write_text(file.read_text().replace("expire_in: 1 week", "expire_in: [1]").replace(
        "timeout-minutes: 20", "timeout-minutes: long"))  # fmt: skip
    assert _is_valid(broken, given) == 1


def _is_valid(file: Path, given: list[str]) -> int:
    command = [sys.executable, "-m", "check_jsonschema", *given, str(file)]
    return subprocess.run(command, check=False, capture_output=True).returncode


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_command_line_takes_every_command(name: str) -> None:
    ours = [one for one in WORKFLOWS[name]() if one.command.startswith(f"{NAME} ")]
    assert {our.job for our in ours} == {"part", "report", "night"}
    for step in ours:
        parse(_expand_command(step))


def _expand_command(step: Step) -> str:
    """Return a command as a shell parses it, without the commands after it."""
    command = step.command.replace('"$(date +%Y%m%d)"', "20260101")
    for name, value in step.variables.items():
        command = command.replace(f"${name}", value)
    command = command.partition(" || ")[0]
    assert "$" not in command
    return command


@pytest.mark.parametrize("name", WORKFLOWS)
def test_location_of_hlo_conformance_must_be_set(name: str) -> None:
    steps = [one for one in WORKFLOWS[name]() if "pip install" in one.command]
    assert {one.job for one in steps} == {"part", "report", "night"}
    for step in steps:
        ran = subprocess.run(
            ["bash", "-c", step.command], check=False, capture_output=True, text=True,
            env=os.environ | step.variables,
        )  # fmt: skip
        assert ran.returncode
        assert "HLO_CONFORMANCE: set it to the URL or path of hlo-conformance" in ran.stderr


@pytest.fixture
def environment(tmp_path: Path, command: list[str]) -> dict[str, str]:
    """Variables with which a workflow's commands test a cell in each part."""
    programs = tmp_path / "programs"
    programs.mkdir()
    ours = f'{shlex.join(command)} "$@"'
    for name, text in (
        (NAME, f"case $1 in run) {ours} {CELLS} ;; *) {ours} ;; esac"),
        ("python", "true"),  # nothing is installed
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if "_CI" not in name}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return inherited | {"PATH": path, "PYTHONPATH": str(ROOT)}


def _run(steps: Iterable[Step], folder: Path, environment: dict[str, str]) -> Iterator[int]:
    for step in steps:
        own = {"BACKEND": environment["BACKEND"], "HLO_CONFORMANCE": "./hlo-conformance"}
        variables = environment | step.variables | own
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.command]
        yield subprocess.run(command, check=False, cwd=folder, env=variables).returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "backend", "code"),
    [("github", "reference:unsupported@tanh", 1), ("gitlab", "reference", 0)],
)
def test_parts_are_tested_and_the_report_fails_on_a_loss(
    name: str, backend: str, code: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    work = tmp_path / "work"
    (work / "ci").mkdir(parents=True)
    (work / "ci" / "expectations.toml").write_text("")
    for given in (
        "run --backend reference --profile smoke --out before",
        "baseline write before --out ci/baseline.txt",
    ):
        subprocess.run([NAME, *given.split()], check=True, cwd=work, env=environment)
    named: Callable[[], Iterator[Step]] = WORKFLOWS[name]
    variables = environment | {"BACKEND": backend}
    parts = [one for one in named() if one.job == "part"]
    assert set(_run(parts, work, variables)) == {0}
    if name == "github":  # what its artifacts do
        for number in (1, 2, 3):
            (work / "parts").mkdir(exist_ok=True)
            (work / f"part-{number}").rename(work / "parts" / f"part-{number}")
    report = [one for one in named() if one.job == "report"]
    assert list(_run(report, work, variables))[-1] == code
    assert (work / "report" / "junit.xml").exists()

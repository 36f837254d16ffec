"""examples/gate.sh with a plugin from PyPI, and with a faulty copy of that plugin."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.tools.pages import ROOT
from docs.tools.parsing import parse
from suites.meta.examples.workflows import EXAMPLES
from suites.meta.support.faults.plugin import PACKAGE, compile_faulty_plugin, installed_plugin

CASES = "--profile smoke --op divide --op sine --op cosine --op tanh --element-type f32"

Gate = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def plugin() -> Path:
    return installed_plugin()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def gate(work: Path, command: list[str]) -> Gate:
    """Run examples/gate.sh in a folder, on a plugin, and return its exit code and its output."""
    programs = work / "programs"
    programs.mkdir()
    ours = programs / "hlo-conformance"
    ours.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    ours.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "CASES": CASES, "SHARDS": "2", "SECONDS_EACH": "2",
    }  # fmt: skip

    def run(*given: str, library: object = PACKAGE) -> tuple[int, str]:
        script = ["bash", str(EXAMPLES / "gate.sh"), *given]
        ran = subprocess.run(
            script, check=False, cwd=work, env=environment | {"PACKAGE": str(library)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return ran.returncode, ran.stdout

    return run


@pytest.mark.slow
@pytest.mark.usefixtures("plugin")
def test_a_plugin_is_gated_by_two_files(gate: Gate, work: Path) -> None:
    code, out = gate("accept")
    assert code == 0, out
    written = (work / "ci" / "expectations.toml").read_text()
    assert 'id = "divide-flushed"' in written
    assert "[known.counterexample]" in written
    code, out = gate()
    assert code == 0, out
    assert "against the baseline: 0 changed, 0 new, 0 lost, 0 fixed, 0 gained, 0 changed" in out


@pytest.mark.slow
@pytest.mark.usefixtures("plugin")
def test_faults_of_a_plugin_are_new_or_lost(gate: Gate, work: Path) -> None:
    """An op that is refused, an op that ends the process, and an op that is 64 ulp off."""
    faulty = work / "libpjrt_faulty.so"
    compile_faulty_plugin(faulty, UNSUPPORTED="sine", ABORTS="cosine", WRONG="tanh")
    if not (work / "ci" / "baseline.txt").exists():
        assert gate("accept")[0] == 0
    code, out = gate(library=faulty)
    assert code == 1, out
    assert "against the baseline: 0 changed, 2 new, 4 lost, 0 fixed, 0 gained, 0 changed" in out
    for line in (
        "new: tanh f32 on plugin:xlacpu, 2 cases: pass → inaccurate",
        "lost: sine f32 on plugin:xlacpu, 2 cases: pass → unsupported: UNIMPLEMENTED: this op",
        "lost: cosine f32 on plugin:xlacpu, 2 cases: pass → crashed (abnormal exit, SIGABRT): the",
    ):
        assert line in out
    assert "SIGABRT: F0000 device.cc:17] Check failed: registers != nullptr" in out


def test_the_command_line_takes_every_command() -> None:
    script = (EXAMPLES / "gate.sh").read_text().replace("\\\n", "")
    for text, value in (
        ('"${cases[@]}"', CASES), ('"$@"', ""), ("${SECONDS_EACH:-10}", "10"),
        (">/dev/null", ""), ("$backend", "reference"),
    ):  # fmt: skip
        assert text in script
        script = script.replace(text, value)
    lines = [line.strip() for line in script.splitlines()]
    found = [line.partition(" || ")[0] for line in lines if line.startswith("hlo-conformance ")]
    assert len(found) == 6
    for command in found:
        parse(command)


def test_wrong_subcommand_prints_usage(gate: Gate) -> None:
    code, out = gate("acept")
    assert code == 2
    assert "examples/gate.sh accept    writes ci/expectations.toml and ci/baseline.txt" in out

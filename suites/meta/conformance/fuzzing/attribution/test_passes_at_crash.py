"""Passes of a program that runs in a process of its own, which may crash or hang there."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conformance.backends.passes import PRINTING, Passes
from conformance.fuzzing.attribution.passes_at_crash import observe_passes
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial
from conformance.verdict import Verdict
from suites.meta.support.small_programs import array, op_program, tensor_of

PROGRAM = op_program("tanh", [tensor_of(2)], tensor_of(2))
FINDING = Finding(
    Verdict.CRASHED, "abnormal exit", "", program=PROGRAM, text="", inputs=(array([1.0, 2.0]),),
    expected=(), actual=(),
)  # fmt: skip
PRINTED = b"""
I0 1 hlo_pass_pipeline.cc:181]   HLO pass dce
I0 1 hlo_pass_pipeline.cc:176] HLO pass: dce time: 7 us (7 us) (cumulative: 7 us)
I0 1 hlo_pass_pipeline.cc:181]   HLO pass simplification
I0 1 hlo_pass_pipeline.cc:181]   HLO pass algsimp
\xff Fatal
"""


@pytest.mark.parametrize("hangs", [False, True])
def test_output_and_dump_of_the_process_are_read(
    hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], *, input: bytes, env: dict[str, str], timeout: float, **_: Any):  # noqa: A002
        spelling, folder, program, inputs = pickle.loads(input)
        seen.update(spelling=spelling, program=program, inputs=inputs, env=env, timeout=timeout)
        (Path(folder) / "m.0000.HLO_passes.after_dce.before_algsimp.txt").touch()
        if hangs:
            raise subprocess.TimeoutExpired(command, timeout, stderr=PRINTED)
        return subprocess.CompletedProcess(command, -6, None, PRINTED)

    monkeypatch.setattr(subprocess, "run", run)
    found = observe_passes(Trial("cpu:AVX2", 0, 0, 1), FINDING, 12.0)
    assert found == (("algsimp", "simplification"), Passes(("dce",)))
    assert (seen["spelling"], seen["timeout"]) == ("cpu:AVX2", 12.0)
    assert seen["program"] == PROGRAM
    assert [one.tolist() for one in seen["inputs"]] == [[1, 2]]
    assert seen["env"].items() >= PRINTING.items()


def test_a_backend_that_prints_no_passes_has_none() -> None:
    assert observe_passes(Trial("reference", 0, 0, 1), FINDING, 60.0) == ((), Passes())


@pytest.mark.slow
def test_passes_of_a_program_that_ends_well_have_all_ended() -> None:
    unfinished, passes = observe_passes(Trial("cpu", 0, 0, 1), FINDING, 60.0)
    assert unfinished == ()
    assert passes.single

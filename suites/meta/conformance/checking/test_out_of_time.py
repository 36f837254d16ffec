"""Settled verdicts stand when the search for their cause takes too long or ends the worker."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from conformance.checking import file
from conformance.checking.command import Options, check
from conformance.checking.explaining import ExplanationTime
from conformance.checking.settings import CheckedFile, Settings
from conformance.executors.limit import OutOfTime
from conformance.executors.local import Call, LocalExecutor, WorkerCrash, WorkerTimeout
from conformance.limits import Limits
from conformance.phases import keep_value
from conformance.triage import conclusion
from conformance.verdict import Verdict
from suites.meta.support.checking import FAULTY, check_text

TIMEOUT = 6.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "missing"),
    [
        ("hang", "in half of the time (--timeout 12 allows twice as long)"),
        ("abort", "the process ended with SIGABRT"),
    ],
)
def test_a_settled_verdict_is_kept(
    fault: str, missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The backend is wrong in the whole, and lost in the parts that the search for it runs."""
    path, inputs, saved = (tmp_path / name for name in ("program.mlir", "in.npz", "saved"))
    path.write_text(FAULTY)
    np.savez(inputs, x=np.ones(4, np.float32), y=np.ones(4, np.float32))
    options = Options(
        (str(path),), f"reference:{fault}_on_one_operation", inputs, 1,
        limits=Limits(TIMEOUT), save=saved, as_json=True,
    )  # fmt: skip
    assert check(options) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "divergent"
    assert "first wrong: exponential %0 (@inner, line 3): " in told["message"]
    assert (
        f"the search for the cause was not finished{': ' * (fault == 'abort')}" in told["message"]
    )
    assert missing in told["message"]
    (folder,) = saved.iterdir()
    assert json.loads((folder / "verdict.json").read_text())["verdict"] == "divergent"
    assert (folder / "actual.npz").exists()


def test_files_in_one_worker_are_explained_in_half_of_their_time() -> None:
    limit = ExplanationTime(Limits(0.4))
    with pytest.raises(OutOfTime):
        limit.spend(lambda: time.sleep(60))
    assert limit.seconds_left() <= 0.0
    with pytest.raises(OutOfTime):  # there is one such half for all programs of a file
        limit.spend(lambda: None)
    assert "--timeout 0.8 allows twice as long" in limit.note()


def _keep_and(how: str) -> str:
    for value in range(3):
        keep_value(value)
    if how == "hang":
        time.sleep(60)
    if how == "die":
        os._exit(3)
    return how


@pytest.mark.slow
def test_value_kept_by_lost_call_is_returned() -> None:
    with LocalExecutor(1) as executor:
        ended = [executor.one(Call(how, _keep_and, (how,), 1.5)) for how in ("hang", "die", "end")]
        again = executor.one(Call("none", time.sleep, (60,), 0.5))
    lost, died, ok = ended
    assert isinstance(lost, WorkerTimeout)
    assert lost.kept == 2
    assert ok == "end"
    assert isinstance(again, WorkerTimeout)
    assert again.kept is None
    assert died == WorkerCrash("exit code 3", kept=2)


def test_a_wrong_operation_settles_that_a_program_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for the fault may take longer than there is time for."""

    def raise_out_of_time(*_: object) -> None:
        raise OutOfTime

    kept: list[CheckedFile] = []
    monkeypatch.setattr(file, "keep_value", kept.append)
    monkeypatch.setattr(conclusion, "judge_program", raise_out_of_time)
    with pytest.raises(OutOfTime):
        check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    (told,) = kept
    assert told.verdict is Verdict.DIVERGENT
    assert told.operation.startswith("exponential %0 ")
    assert told.message.startswith(
        "a result is outside the range that rounding permits; first wrong: exponential"
    )
    assert told.message.endswith("; drawn inputs, set 1 of 3")


def test_time_spent_on_an_explanation_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    explanation = ExplanationTime(Limits(20.0))
    assert explanation.seconds_left() == 10.0

    def explain() -> str:
        nonlocal now
        now += 4.0
        return "the cause"

    assert explanation.spend(explain) == "the cause"
    assert explanation.seconds_left() == 6.0


def test_an_explanation_ends_before_its_worker_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    soon = ExplanationTime(Limits(20.0), deadline=1004.0)
    assert soon.seconds_left() == 3.0  # a second is reserved for the verdict
    over = ExplanationTime(Limits(20.0), deadline=1000.5)
    with pytest.raises(OutOfTime):
        over.spend(lambda: "never asked")

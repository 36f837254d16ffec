"""Programs that need too much memory or time: verdicts stand, and messages name the limit."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.checking import file
from conformance.checking.calls import CHECK_BATCH, JUDGE_CRASH
from conformance.checking.command import Options, check
from conformance.checking.explaining import ExplanationTime
from conformance.checking.files import check_files
from conformance.checking.settings import UNJUDGED, CheckedFile, Settings
from conformance.executors.limit import OutOfTime
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.frontends.arguments import InputsError
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.limits import Limits
from conformance.triage import conclusion
from conformance.triage.attribute import Explainer
from conformance.verdict import Verdict
from reference.ir.errors import out_of_memory
from reference.ir.program import Operation
from suites.meta.support.checking import FAULTY, check_text
from suites.meta.support.workers import Workers

LARGE = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %wide = stablehlo.broadcast_in_dim %x, dims = [1]
    : (tensor<8xf32>) -> tensor<1099511627776x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1099511627776x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}"""


def test_message_names_limit_operation_and_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    path.write_text(LARGE)
    np.savez(inputs, x=np.ones(8, np.float32))
    assert check(Options((str(path),), "reference", inputs, 1, limits=Limits(240.0, 3 << 30))) == 4
    out = capsys.readouterr().out
    assert "not_judged (not evaluated): out of memory: Unable to allocate 32.0 TiB" in out
    assert "(broadcast_in_dim %wide (line 3))" in out
    assert "; a worker may use 3 GiB (--memory-limit 6 allows twice as much)" in out


def _too_large(*_: Any, **__: Any) -> Any:
    raise out_of_memory(Operation("negate", ()), MemoryError("Unable to allocate 3 GiB"))


def test_evaluations_after_the_first_may_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PermittedResults, "moved_samples", _too_large)
    found = check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    assert (found.verdict, found.kind) == (Verdict.NOT_JUDGED, "not evaluated")
    assert found.message.startswith("out of memory: Unable to allocate 3 GiB (negate); ")


def test_a_verdict_stands_if_its_explanation_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "explain", _too_large)
    found = check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation.startswith("exponential %0 ")
    assert "the search for the cause was not finished: out of memory: " in found.message


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


SETTINGS = Settings(limits=Limits(7.0))
FILES = tuple(f"file{number}" for number in range(12))


def passing_file(file: str) -> CheckedFile:
    return CheckedFile(Verdict.PASS, file=file)


def verdicts(value: Any, files: tuple[str, ...] = FILES) -> tuple[list[CheckedFile], list[Call]]:
    """Return the verdicts in their order, and the calls that were made."""
    workers = Workers(value)
    found = check_files(workers, files, SETTINGS, jobs=1)  # type: ignore[arg-type]
    return [one for one in found if one is not None], workers.made


def answer(call: Call, lost: dict[str, WorkerCrash | WorkerTimeout], second: Any = None) -> Any:
    """Return the end of a call about a batch: these files are lost, and any other passes."""
    if call.function is JUDGE_CRASH:
        return second
    files = call.name.files
    guilty = [lost[file] for file in files if file in lost]
    return guilty[0] if guilty else tuple(map(passing_file, files))


def test_only_the_guilty_file_is_blamed_and_the_order_stays() -> None:
    judged = CheckedFile(Verdict.CRASHED, "abnormal exit", "m", known=("e",), file="file4")
    found, calls = verdicts(lambda call: answer(call, {"file4": WorkerCrash("SIGABRT")}, (judged,)))
    assert found == [judged if file == "file4" else passing_file(file) for file in FILES]
    asked = [call.arguments[0].files for call in calls if call.function is JUDGE_CRASH]
    assert asked == [("file4",)]
    checked = [call.arguments[0].files for call in calls if call.function is CHECK_BATCH]
    assert [files for files in checked if "file4" in files] == [FILES[3:6], ("file4",)]
    assert {call.timeout for call in calls} == {7.0}


def test_a_file_that_ends_every_process_has_the_verdict_of_its_first_end() -> None:
    lost = WorkerCrash("SIGSEGV", "words")
    found, _ = verdicts(lambda call: answer(call, {"file0": lost}, lost), FILES[:1])
    assert found == [
        CheckedFile(
            Verdict.CRASHED, "abnormal exit", "the process ended with SIGSEGV: words",
            file="file0",
        )
    ]  # fmt: skip


@pytest.mark.parametrize("is_settled", [False, True])
def test_a_verdict_that_was_left_before_the_end_stands(is_settled: bool) -> None:
    verdict = Verdict.PASS if is_settled else Verdict.DIVERGENT
    kept = CheckedFile(verdict, "", "m", file="file0", is_settled=is_settled)
    lost = WorkerTimeout(7.0, kept=kept)
    (found,), calls = verdicts(lambda call: answer(call, {"file0": lost}), FILES[:1])
    assert [call.function for call in calls] == [CHECK_BATCH]
    if is_settled:
        notes = (f"{UNJUDGED}: no answer within 7 s",)
        assert found == replace(kept, notes=notes, is_settled=False)
    else:
        words = "m; the search for the cause was not finished: no answer within 7 s"
        assert found == replace(kept, message=words)


def test_wrong_inputs_are_an_error_of_the_call() -> None:
    with pytest.raises(InputsError, match="no such"):
        verdicts(lambda _: InputsError("no such array"))


def test_files_in_one_worker_are_explained_in_half_of_their_time() -> None:
    limit = ExplanationTime(Limits(0.4))
    with pytest.raises(OutOfTime):
        limit.spend(lambda: time.sleep(60))
    assert limit.seconds_left() <= 0.0
    with pytest.raises(OutOfTime):  # there is one such half for all programs of a file
        limit.spend(lambda: None)
    assert "--timeout 0.8 allows twice as long" in limit.note()

"""Files in batches of workers: the order of the verdicts, and the files that are blamed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checking.calls import CHECK_BATCH, JUDGE_CRASH
from conformance.checking.files import BATCH, batches, check_files
from conformance.checking.settings import UNJUDGED, CheckedFile, Settings
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.frontends.arguments import InputsError
from conformance.limits import Limits
from conformance.verdict import Verdict
from suites.meta.support.workers import Workers

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


def test_batches_leave_no_worker_idle() -> None:
    assert [len(one.files) for one in batches(FILES, SETTINGS, 1)] == [3] * 4
    assert [len(one.files) for one in batches(FILES, SETTINGS, 8)] == [1] * 12
    many = batches([*FILES] * 100, SETTINGS, 2)
    assert {len(one.files) for one in many} == {BATCH}
    assert [one.start for one in many] == [*range(0, 1200, BATCH)]


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

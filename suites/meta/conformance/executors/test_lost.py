"""Verdicts on calls without an end, and the backend's own words in their messages."""

from __future__ import annotations

import pytest

from conformance.backends.base import DEVICE_ERROR, DEVICE_ERROR_EXIT
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, own_words
from conformance.phases import Phase
from conformance.verdict import Verdict


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("SIGSEGV", "segmentation fault"),
        ("SIGBUS", "segmentation fault"),
        ("exit code 3", "exit code 3"),
        (f"exit code {DEVICE_ERROR_EXIT}", DEVICE_ERROR),
    ],
)
def test_a_crash_has_the_name_of_its_signal_and_the_last_words(reason: str, kind: str) -> None:
    verdict, found, message = crash_verdict(WorkerCrash(reason, "check failed: x"))
    assert (verdict, found) == (Verdict.CRASHED, kind)
    assert reason in message
    assert own_words(message) == "check failed: x"
    assert own_words("in 2 of 4 runs: check failed: x") == "check failed: x"


def test_a_timeout_says_what_the_backend_was_doing() -> None:
    phases = (Phase("compilation", 0, 0, 0.25),)
    verdict, kind, message = crash_verdict(WorkerTimeout(2.0, phases))
    assert (verdict, kind) == (Verdict.TIMED_OUT, "no answer")
    assert message.startswith("no answer within 2 s: the backend had been compiling")
    assert not own_words(message)


def test_a_message_of_the_backend_is_its_own() -> None:
    assert own_words("UNIMPLEMENTED: no such op") == "UNIMPLEMENTED: no such op"

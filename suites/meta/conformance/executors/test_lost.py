"""Verdicts on calls without an end, and the backend's own words in their messages."""

from __future__ import annotations

import pytest

from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, ending, own_words
from conformance.phases import Phase
from conformance.verdict import Verdict


@pytest.mark.parametrize("reason", ["SIGSEGV", "SIGBUS", "exit code 3"])
def test_a_crash_has_the_name_of_its_signal_and_the_last_words(reason: str) -> None:
    verdict, kind, message = crash_verdict(WorkerCrash(reason, "check failed: x"))
    assert (verdict, kind) == (Verdict.CRASHED, "abnormal exit")
    assert ending(message) == ending(f"in 2 of 4 runs: {message}") == reason
    assert own_words(message) == "check failed: x"
    assert own_words("in 2 of 4 runs: check failed: x") == "check failed: x"


def test_a_timeout_says_what_the_backend_was_doing() -> None:
    phases = (Phase("compilation", 0, 0, 0.25),)
    verdict, kind, message = crash_verdict(WorkerTimeout(2.0, phases))
    assert (verdict, kind) == (Verdict.TIMED_OUT, "no answer")
    assert message.startswith("no answer within 2 s: the backend had been compiling")
    assert (own_words(message), ending(message)) == ("", "no answer")


def test_a_message_of_the_backend_is_its_own() -> None:
    said = "UNIMPLEMENTED: no such op"
    assert (own_words(said), ending(said)) == (said, "")

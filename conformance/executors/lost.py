"""Verdicts on calls whose worker crashed or timed out."""

from __future__ import annotations

import re

from conformance.executors.local import WorkerCrash, WorkerTimeout, is_starved
from conformance.phases import describe_timeout
from conformance.verdict import Verdict

ABNORMAL_EXIT, NO_ANSWER = "abnormal exit", "no answer"
"""Classes of calls whose worker crashed or timed out."""

BROKEN_HEAP = (
    "malloc*(): ", "free(): ", "realloc(): ", "munmap_chunk(): ", "corrupted ",
    "double free or corruption", "malloc assertion failure",
)  # fmt: skip
"""Messages of glibc's allocator before it aborts a process whose memory was overwritten; `*` is
any text. The message differs from run to run, and may be missing.
"""

OVERWRITTEN = ("SIGABRT", "SIGSEGV")
"""Signals that end a process whose memory was overwritten, with a message of the allocator or
without any.
"""

_ENDED, _UNANSWERED = "the process ended with", f"{NO_ANSWER} within"
_OURS = re.compile(rf"{_ENDED} [\w ]+(?:: )?|{_UNANSWERED} .*|^in \d+ of \d+ runs: ", re.DOTALL)
_ENDING = re.compile(rf"{_ENDED} (SIG\w+|exit code \d+)|({NO_ANSWER}) within ")


def own_words(message: str) -> str:
    """Return the backend's own words in a message about a program without results."""
    return _OURS.sub("", message)


def ending(message: str) -> str:
    """Return the signal or exit code in a message about a process, or "no answer"; "" for none."""
    found = _ENDING.search(message)
    return "" if found is None else found[1] or found[2]


def crash_verdict(lost: WorkerCrash | WorkerTimeout) -> tuple[Verdict, str, str]:
    """Return verdict, class and message for a worker that crashed or timed out."""
    if isinstance(lost, WorkerTimeout):
        waited = f" ({lost.waited:.0f} s without a processor)" if is_starved(lost) else ""
        parts = (
            f"{_UNANSWERED} {lost.seconds:g} s{waited}",
            describe_timeout(lost.phases, lost.seconds),
        )
        return Verdict.TIMED_OUT, NO_ANSWER, ": ".join(filter(None, parts))
    words = f": {lost.last_words}" if lost.last_words else ""
    return Verdict.CRASHED, ABNORMAL_EXIT, f"{_ENDED} {lost.reason}{words}"

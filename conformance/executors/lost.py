"""Verdicts on calls whose worker crashed or timed out."""

from __future__ import annotations

import re

from conformance.backends.base import DEVICE_ERROR, DEVICE_ERROR_EXIT
from conformance.executors.local import WorkerCrash, WorkerTimeout, is_starved
from conformance.phases import describe_timeout
from conformance.verdict import Verdict

_REASONS = {
    "SIGABRT": "abort", "SIGSEGV": "segmentation fault", "SIGBUS": "segmentation fault",
    "SIGFPE": "arithmetic exception", "SIGILL": "illegal instruction", "SIGKILL": "killed",
    f"exit code {DEVICE_ERROR_EXIT}": DEVICE_ERROR,
}  # fmt: skip

BROKEN_HEAP = (
    "malloc*(): ", "free(): ", "realloc(): ", "munmap_chunk(): ", "corrupted ",
    "double free or corruption", "malloc assertion failure",
)  # fmt: skip
"""Messages of glibc's allocator before it aborts a process whose memory was overwritten; `*` is
any text. The message differs from run to run, and may be missing.
"""

_ENDED, _UNANSWERED = "the process ended with", "no answer within"
_OURS = re.compile(rf"{_ENDED} [\w ]+(?:: )?|{_UNANSWERED} .*|^in \d+ of \d+ runs: ", re.DOTALL)


def own_words(message: str) -> str:
    """Return the backend's own words in a message about a program without results."""
    return _OURS.sub("", message)


def crash_verdict(lost: WorkerCrash | WorkerTimeout) -> tuple[Verdict, str, str]:
    """Return verdict, class and message for a worker that crashed or timed out."""
    if isinstance(lost, WorkerTimeout):
        waited = f" ({lost.waited:.0f} s without a processor)" if is_starved(lost) else ""
        parts = (
            f"{_UNANSWERED} {lost.seconds:g} s{waited}",
            describe_timeout(lost.phases, lost.seconds),
        )
        return Verdict.TIMED_OUT, "no answer", ": ".join(filter(None, parts))
    words = f": {lost.last_words}" if lost.last_words else ""
    kind = _REASONS.get(lost.reason, lost.reason)
    return Verdict.CRASHED, kind, f"{_ENDED} {lost.reason}{words}"

"""Outcomes: what a run of a case gave, digests of outcomes, and what was concluded from them."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from conformance.backends.base import BackendError
from conformance.campaign.batch import Results
from conformance.verdict import Errors, Record, Verdict

Outcome = Results | BackendError
"""What a run of a case gave: the results of each input set, or the backend's error."""


class Conclusion(NamedTuple):
    """The record of a case, with its error picture.

    `outcomes` are digests of what the case gave, where it failed and every run in isolation gave
    the same. They are what a later run must give to have the same record. There are none of a case
    that did not fail, that failed in a batch alone or that did not fail every time.
    """

    record: Record
    errors: Errors
    outcomes: tuple[bytes, ...] = ()


def digest_of(outcome: Outcome) -> bytes:
    """Return a digest of all bits of an outcome, or of the backend's error."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(outcome, BackendError):
        digest.update(repr((type(outcome).__name__, str(outcome))).encode())
        return digest.digest()
    for results in outcome:
        for array in results:
            digest.update(repr((array.dtype.str, str(array.dtype), array.shape)).encode())
            digest.update(array.tobytes())
        digest.update(b"set")
    return digest.digest()


def digest_of_answer(verdict: Verdict, kind: str, message: str) -> bytes:
    """Return a digest of how a case ended that gave no results."""
    return hashlib.blake2b(repr((verdict.value, kind, message)).encode(), digest_size=16).digest()

"""A campaign against one faulty backend until a program fails: with one worker, without
steering.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any

from conformance.backends import session
from conformance.fuzzing.execution import run_trial
from conformance.fuzzing.singles import PER_TRIAL
from conformance.fuzzing.trial import Trial


@dataclass(frozen=True, slots=True)
class FaultHunt:
    """The seconds and programs until a campaign found a fault, and the failure that shows it: its
    verdict and class in words, "" if no program failed."""

    seconds: float
    programs: int
    failure: str


def hunt_fault(backend: Any, ops: frozenset[str], seed: int, budget: float) -> FaultHunt:
    """Try programs of these ops (of all ops if empty) on a backend until a program fails.

    Returns:
        The seconds and programs until then, and the failure.
    """
    before, session.cached_backend = session.cached_backend, lambda _: backend
    begun = monotonic()
    try:
        for start in count(0, PER_TRIAL):
            tried = run_trial(Trial("reference", seed, start, start + PER_TRIAL, ops))
            spent = monotonic() - begun
            if tried.failures:
                outcome = tried.failures[0].outcome
                return FaultHunt(spent, start + PER_TRIAL, f"{outcome.verdict} ({outcome.kind})")
            if spent > budget:
                return FaultHunt(spent, start + PER_TRIAL, "")
    finally:
        session.cached_backend = before
    raise AssertionError("never reached: numbers have no end")

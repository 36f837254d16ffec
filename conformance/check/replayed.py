"""What became of a counterexample that was replayed."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.verdict import Verdict

SECONDS = 60.0
"""What a call may take; the reference may take a third of it for one program."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a counterexample: the verdict, its class, and what was seen.

    `reproduces` says whether it is what the expectation speaks of.
    """

    id: str
    reproduces: bool
    verdict: Verdict
    kind: str = ""
    message: str = ""

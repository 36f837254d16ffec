"""A recorded case, and what it came to when it was run again."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.gate.files import Given
from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A case as a run recorded it, with what it takes to make the case again.

    `backend` is what to run it on, as it was asked for then, or as it is asked for now;
    `expectations` is what the run was given by that name, None for the shipped ones;
    `version` is the backend's own, where it was given by hand.
    """

    record: Record
    seed: int
    profile: str
    backend: str
    expectations: Given = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A case run again: its new record, and the arrays of the worst input set as text.

    `arguments` are (name, type, values); `results` are (type, expected, actual), with nothing
    where the backend gave none. `unit` is what errors are measured in.
    """

    record: Record
    program: str
    arguments: tuple[tuple[str, str, str], ...] = ()
    results: tuple[tuple[str, str, str], ...] = ()
    unit: str = "ulp"

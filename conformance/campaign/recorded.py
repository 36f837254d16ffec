"""A recorded case and the result of its replay, which the parent and its worker exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.gate.files import Given
from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A case as recorded by a run, with all that is needed to generate it again.

    `backend` is the backend to run it on: as given to the run, or as given now. `expectations` is
    the run's option, None for the shipped expectations. `version` is the backend's own version, if
    it was given by option.
    """

    record: Record
    seed: int
    profile: str
    backend: str
    expectations: Given = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of replaying a case: its new record, and the arrays of the worst input set as
    text.

    `arguments` are (name, type, values); `results` are (type, expected, actual), with nothing where
    the backend gave none. `unit` is the unit of errors. `reasons` are the reasons of the run's
    expectations by id.
    """

    record: Record
    program: str
    arguments: tuple[tuple[str, str, str], ...] = ()
    results: tuple[tuple[str, str, str], ...] = ()
    unit: str = "ulp"
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

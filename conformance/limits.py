"""Every limit on time and memory that commands set: its unit, and how it is derived."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

IDENTITY = {"identity": True}
"""Metadata of an option on which results depend: a run is not resumed with another value."""


def identity_of(options: Any) -> dict[str, Any]:
    """Return the options on which results depend, also nested options: values by name."""
    found: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if isinstance(value, Limits):
            found |= identity_of(value)
        elif one.metadata.get("identity"):
            found[one.name.replace("_", " ")] = [*value] if isinstance(value, tuple) else value
    return found


def limit(default: float, words: str, *, least: float, unit: int = 1) -> Any:
    """Return a field of `Limits`. It is an option of every command that takes limits.

    Args:
        default: the default, in the field's own unit.
        words: the help of the option.
        least: the least value that the option takes.
        unit: the unit of the option, in units of the field.
    """
    return field(
        default=default, metadata={**IDENTITY, "help": words, "least": least, "unit": unit}
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the work of one command. Times are seconds of wall time, sizes are bytes."""

    timeout: float = limit(60.0, "Seconds for a call of a worker.", least=0.1)
    """Seconds for a worker's call: a batch of cases, programs or counterexamples, or a user's file.
    """

    memory_limit: int = limit(
        6 << 30, "GiB of memory for each worker process; 0 for no limit.", least=0, unit=1 << 30
    )
    """Bytes of memory for data that a worker may map; 0 for no limit."""

    EVALUATIONS: ClassVar[int] = 8
    """Evaluations by the reference that have to fit in a call: judging a program takes several."""

    START: ClassVar[float] = 120.0
    """Seconds for opening a backend."""

    TRANSFER: ClassVar[float] = 40.0
    """Seconds that a call with a time budget of its own may take beyond that budget."""

    GENERATED: ClassVar[float] = 1.0
    """Seconds for evaluating a generated program: it takes milliseconds, unless it loops for
    ever.
    """

    MINIMISING: ClassVar[float] = 20.0
    """Seconds for minimising a failing program of a campaign."""

    MINIMISING_CRASHES: ClassVar[float] = 40.0
    """Seconds for minimising a program that crashes its worker: each attempt may cost a worker.
    """

    EXPLAINING: ClassVar[float] = 20.0
    """Seconds for the search for the cause of a finding, in one worker."""

    EXPLAINING_CRASHES: ClassVar[float] = 30.0
    """Seconds for the search for the cause of a finding, if each question needs its own worker."""

    READING: ClassVar[float] = 600.0
    """Seconds for reading a file of programs that a campaign varies."""

    @property
    def item(self) -> float:
        """Seconds for a program in a call of its own, after its batch crashed or timed out: a third
        of a call.

        A hang costs a whole call for the batch, and two thirds of a call to find the program.
        """
        return self.timeout / 3

    @property
    def attempt(self) -> float:
        """Seconds for one of many questions about a finding: half of a program's limit."""
        return self.timeout / 6

    @property
    def evaluation(self) -> float:
        """Seconds for an evaluation by the reference: its share of a call."""
        return self.timeout / self.EVALUATIONS

    @property
    def explanation(self) -> float:
        """Seconds for explaining a failure of a user's file: half the time limit of a call."""
        return self.timeout / 2


LIMITS = Limits()
"""The default limits of runs, campaigns and counterexamples."""

FILE_LIMITS = Limits(240.0)
"""The default limits of checks of users' files."""

SWEEP_LIMITS = Limits(600.0)
"""The default limits of sweeps, whose blocks have four million values."""

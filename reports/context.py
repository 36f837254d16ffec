"""The context of a report: earlier runs, findings of campaigns, and sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.outputs.sweep import Sweep
from conformance.results.history import History

if TYPE_CHECKING:  # it loads jax, and a report of no campaign needs none
    from conformance.fuzzing.keeping.collection import FoundCause


@dataclass(frozen=True, slots=True)
class Context:
    """Earlier runs, findings and sweeps, each None if not asked for."""

    history: History | None = None
    causes: tuple[FoundCause, ...] | None = None
    sweeps: tuple[Sweep, ...] | None = None


NOTHING = Context()
"""The context of a single run."""

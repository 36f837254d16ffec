"""Functions that workers are called for. Their modules need jaxlib, which the parent does not load.

All of them may raise NotAvailable when the backend cannot be had.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from conformance.executors.deferred import Deferred

RUN_TRIAL = Deferred("conformance.fuzzing.execution", "run_trial")
"""Return the outcome of a trial."""

GIVES_ANSWER = Deferred("conformance.fuzzing.execution", "gives_answer")
"""Return whether a program gives an answer; it may end the worker."""

REDUCED = Deferred("conformance.fuzzing.minimisation", "reduced")
"""Return the finding of a hit, minimised for so many seconds."""

AS_IT_IS = Deferred("conformance.fuzzing.minimisation", "as_it_is")
"""Return the finding of a hit as it is."""

READABLE = Deferred("conformance.fuzzing.minimisation", "readable")
"""Return a program's text as people read it; "" if it cannot be written."""

EXPLAINED = Deferred("conformance.fuzzing.attribution.asking", "explained")
"""Return a finding with its cause and the third vote, looked for in so many seconds."""

PLAN = Deferred("conformance.fuzzing.attribution.asking", "plan")
"""Return what may be asked about a finding's cause; it may end the worker."""

ASKED = Deferred("conformance.fuzzing.attribution.asking", "asked")
"""Return the outcome of a finding's program in another way; it may end the worker."""

VOTE = Deferred("conformance.fuzzing.attribution.third", "vote")
"""Return how StableHLO's interpreter votes on a finding; it may end the worker."""

WATCHED = Deferred("conformance.fuzzing.attribution.watched", "watched")
"""Return the passes that a program's process ended in, and those before.

The program is run in another process, for at most so many seconds.
"""

CUT = Deferred("conformance.fuzzing.seeds.files", "cut")
"""Return the pieces of all programs in some files; a file may end the worker."""

CAME_TO = Deferred("conformance.fuzzing.user_programs", "came_to")
"""Return the outcome of the program of a file; it may end the worker.

UsageError is raised if the file holds no program that can be tried.
"""

FAILING = Deferred("conformance.fuzzing.user_programs", "failing")
"""Return the program of a file on inputs that it fails on, or None.

UsageError is raised if the file holds no program that can be tried.
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """The result of a call, and the seconds that a worker spent on it."""

    value: object
    seconds: float


def timed(function: Deferred, *given: object) -> Timed:
    """Return the result of a call, and how long it takes; runs in a worker."""
    begun = monotonic()
    value = function(*given)
    return Timed(value, monotonic() - begun)

"""Functions that workers are called for. Their modules need jaxlib, which the parent does not load.

All of them may raise NotAvailable when the backend is not available.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from conformance.executors.deferred import Deferred

RUN_TRIAL = Deferred("conformance.fuzzing.execution", "run_trial")
"""Return the outcome of a trial."""

GIVES_ANSWER = Deferred("conformance.fuzzing.execution", "gives_answer")
"""Return whether a program gives an answer; it may crash the worker."""

MINIMISE_FAILURE = Deferred("conformance.fuzzing.minimisation", "minimise_failure")
"""Return the finding of a failure, minimised for a number of seconds."""

UNMINIMISED_FINDING = Deferred("conformance.fuzzing.minimisation", "unminimised_finding")
"""Return the finding of a failure as it is."""

READABLE = Deferred("conformance.fuzzing.minimisation", "readable_text")
"""Return a program's text as people read it; "" if it cannot be written."""

EXPLAIN_FINDING = Deferred("conformance.fuzzing.attribution.asking", "explain_finding")
"""Return a finding with its cause and the third vote; the search is limited in seconds."""

PLAN = Deferred("conformance.fuzzing.attribution.asking", "plan")
"""Return the variants to try for a finding's cause; the worker may crash."""

TRY_VARIANT = Deferred("conformance.fuzzing.attribution.asking", "try_variant")
"""Return the outcome of a finding's program in a variant; it may crash the worker."""

VOTE = Deferred("conformance.fuzzing.attribution.third_vote", "vote")
"""Return how StableHLO's interpreter votes on a finding; it may crash the worker."""

OBSERVE_PASSES = Deferred("conformance.fuzzing.attribution.passes_at_crash", "observe_passes")
"""Return the passes during which a program's process ended, and the passes before.

The program is run in another process, with a limit in seconds.
"""

CUT_FILES = Deferred("conformance.fuzzing.seeds.files", "cut_files")
"""Return the fragments of all programs in some files; a file may crash the worker."""

OUTCOME_OF_FILE = Deferred("conformance.fuzzing.user_programs", "outcome_of_file")
"""Return the outcome of the program of a file; it may crash the worker.

UsageError is raised if the file holds no program that can be tried.
"""

CRASH_OF_FILE = Deferred("conformance.fuzzing.user_programs", "crash_of_file")
"""Return the outcome of a program that crashed its worker, with expectations that match it."""

FAILING_PROGRAM = Deferred("conformance.fuzzing.user_programs", "failing_program")
"""Return the program of a file on inputs that it fails on, or None.

UsageError is raised if the file holds no program that can be tried.
"""


@dataclass(frozen=True, slots=True)
class TimedResult:
    """The result of a call, and the seconds that a worker spent on it."""

    value: object
    seconds: float


def measure_call(function: Deferred, *given: object) -> TimedResult:
    """Return the result of a call, and how long it takes; runs in a worker."""
    begun = monotonic()
    value = function(*given)
    return TimedResult(value, monotonic() - begun)

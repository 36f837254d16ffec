"""Functions that workers are called for. Their modules need jaxlib, which the parent does not load.

All of them may raise NotAvailable when the backend is not available.
"""

from __future__ import annotations

from conformance.executors.deferred import Deferred

CHECK_BATCH = Deferred("conformance.checking.file", "check_batch")
"""Return the verdicts on the files of a batch."""

JUDGE_CRASH = Deferred("conformance.checking.file", "judge_crash")
"""Return the verdict on a file whose worker crashed or timed out, with matching expectations."""

REPLAY_BATCH = Deferred("conformance.checking.counterexample", "replay_batch")
"""Replay some counterexamples, one after the other."""

MATCH_CRASH = Deferred("conformance.checking.counterexample", "match_crash")
"""Match an expectation with its counterexample, whose worker crashed or timed out."""

DESCRIBE_FILE = Deferred("conformance.checking.describing", "describe_file")
"""Return the parameters and results of each program of a file."""

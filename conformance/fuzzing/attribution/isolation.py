"""Search for causes with each question in a worker of its own, because the answer may crash it."""

from __future__ import annotations

from dataclasses import replace

from conformance.backends.passes import Passes
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.fuzzing import calls
from conformance.fuzzing.attribution.cause import NO_ANSWER, NO_VOTE, WRONG, Vote
from conformance.fuzzing.attribution.search import search_cause
from conformance.fuzzing.attribution.variants import UNOPTIMIZED, CompileVariant, Plan, rewritings
from conformance.fuzzing.crashes import is_harness_timeout
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial
from conformance.limits import Limits


def explain_in_isolation(
    executor: Executor, trial: Trial, finding: Finding, timeout: float
) -> Finding:
    """Return the finding with its cause and the third vote on it; each question may take `timeout`
    seconds.

    Raises:
        NotAvailable: if workers cannot be started.
    """

    def ask_variant(way: CompileVariant) -> str:
        value = executor.one(Call("", calls.TRY_VARIANT, (trial, finding, way), timeout))
        if isinstance(value, (WorkerCrash, WorkerTimeout)):
            verdict, *_ = crash_verdict(value)
            return (
                WRONG if verdict is finding.verdict and not is_harness_timeout(value) else NO_ANSWER
            )
        return value if isinstance(value, str) else NO_ANSWER

    cause = search_cause(
        ask_variant, _plan(executor, trial, finding, timeout), Limits.EXPLAINING_CRASHES
    )
    vote = executor.one(Call("", calls.VOTE, (trial, finding), timeout))
    if not isinstance(vote, Vote):
        vote = Vote(NO_VOTE, "it did not answer")
    text = executor.one(Call("", calls.READABLE, (finding.program,), timeout))
    text = text if isinstance(text, str) and text else finding.text
    return replace(finding, cause=cause, vote=vote, text=text, optimised=b"")


def _plan(executor: Executor, trial: Trial, finding: Finding, timeout: float) -> Plan:
    plan = executor.one(Call("", calls.PLAN, (trial, finding), timeout))
    if isinstance(plan, Plan):
        return plan
    if not isinstance(plan, (WorkerCrash, WorkerTimeout)):
        return Plan(note=f"nothing could be tried ({plan})")
    seen = executor.one(Call("", calls.OBSERVE_PASSES, (trial, finding, timeout), 2 * timeout))
    ways = executor.one(Call("", rewritings, (finding.program, finding.inputs), timeout))
    written = tuple(ways) if isinstance(ways, list) else ()
    if not isinstance(seen, tuple):
        return Plan((*written, UNOPTIMIZED), note="the backend prints no passes")
    ended_in, before = seen
    note = f"the process crashes in {' of '.join(ended_in)}" if ended_in else ""
    if not ended_in and not before.single:
        note = "the compiler reports no pass"
    single = tuple(dict.fromkeys((*ended_in[:1], *before.single)))
    pipelines = tuple(dict.fromkeys((*ended_in[1:], *before.pipelines)))
    return Plan((*written, UNOPTIMIZED), Passes(single, pipelines), note)

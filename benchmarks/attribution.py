"""Compare the pass at fault by the compiler's stages with the search that leaves passes out.

    python -m benchmarks.attribution [--backend cpu] [--every N]

For the counterexample of each expectation, if it gives a wrong result here and runs in one process:
the step of the compiler that evaluated stages name, the passes without which the result is right,
and the seconds that each way takes. Prints how many agree, each pair that does not, and the ratio
of the times. As in a campaign, a finding comes with the optimised module that gave its results.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from time import perf_counter

from conformance.backends.session import open_session
from conformance.executors.local import Call, LocalExecutor
from conformance.fuzzing.attribution.asking import plan, try_variant
from conformance.fuzzing.attribution.cause import Cause
from conformance.fuzzing.attribution.search import search_cause
from conformance.fuzzing.attribution.stages import cause_by_stages
from conformance.fuzzing.attribution.variants import Plan, without_passes
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.minimisation import judge_again
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation
from conformance.gate.reading import load
from conformance.localize.culprit import Step
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.text import plural

SEARCHING = 50.0
"""Limit of a search in seconds: none of the shipped counterexamples needs it on an idle machine."""


class Agreement(Enum):
    """Result of comparing the answers of two ways."""

    SAME_PASS = "both name the pass"
    NO_PASS = "both say that no pass is at fault"
    ONLY_STAGES = "only the stages name a pass"
    ONLY_SEARCH = "the stages say that no pass is at fault, the search names one"
    OTHER_PASS = "they name different passes"
    NO_STAGES = "the stages do not answer"
    NO_SEARCH = "the search does not answer: it hangs or crashes"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers about one counterexample: `by_stages` is "" without an answer, `by_search` are
    passes, each without which the result is right, None without an answer. Times in seconds.
    """

    id: str
    by_stages: str
    by_search: tuple[str, ...] | None
    stages_seconds: float
    search_seconds: float

    @property
    def agreement(self) -> Agreement:
        """The result of comparing the answers."""
        if not self.by_stages:
            return Agreement.NO_STAGES
        if self.by_search is None:
            return Agreement.NO_SEARCH
        if self.by_stages in (Step.CODE_GENERATION.value, Step.TRANSLATION.value):
            return Agreement.ONLY_SEARCH if self.by_search else Agreement.NO_PASS
        if not self.by_search:
            return Agreement.ONLY_STAGES
        is_same = any(f"pass {name} of" in self.by_stages for name in self.by_search)
        return Agreement.SAME_PASS if is_same else Agreement.OTHER_PASS


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one way about a counterexample: passes, or the culprit by stages; seconds."""

    named: tuple[str, ...]
    seconds: float


def ask_stages(trial: Trial, entry: Expectation) -> Answer | None:
    """Return the culprit by stages, None if the counterexample gives no wrong result here."""
    finding = _finding(trial, entry)
    if finding is None:
        return None
    begun = perf_counter()
    staged = cause_by_stages(trial, finding)
    return Answer(() if staged is None else (staged.culprit,), perf_counter() - begun)


def ask_search(trial: Trial, entry: Expectation) -> Answer | None:
    """Return the passes without which the result is right, None if it is not wrong."""
    finding = _finding(trial, entry)
    if finding is None:
        return None
    begun = perf_counter()
    passes = plan(trial, finding).passes
    found = search_cause(partial(try_variant, trial, finding), Plan(passes=passes), SEARCHING)
    return Answer(passes_of(found, passes.single), perf_counter() - begun)


def passes_of(found: Cause, single: Iterable[str]) -> tuple[str, ...]:
    """Return the passes whose omission, each by itself, makes the result right."""
    right = set(found.passing_variants)
    return tuple(name for name in single if without_passes(name).name in right)


def _finding(trial: Trial, entry: Expectation) -> Finding | None:
    shown = entry.counterexample
    assert shown is not None
    program = parse_module(shown.program)
    inputs, session = parse_inputs(program, shown.inputs), open_session(trial.backend)
    if program.process_count > 1 or session.refusal(program) is not None:
        return None
    outcome = judge_in_isolation(trial, session, program, inputs)
    if outcome is None or not outcome.verdict.fails:
        return None
    finding = judge_again(trial, session, FailingProgram(0, program, inputs, outcome))
    return finding if finding.actual else None


def compare(
    executor: LocalExecutor, trial: Trial, entries: Iterable[Expectation], timeout: float
) -> Iterable[Comparison]:
    """Yield the comparison for each entry's counterexample that gives a wrong result here.

    A way that ends its worker, or gives no answer within `timeout` seconds, has no answer: a
    program may hang without a pass that it needs.
    """
    for entry in entries:
        asked = [Call(entry.id, way, (trial, entry), timeout) for way in (ask_stages, ask_search)]
        ended = [one for call in asked for one in executor.results([call]) if one is not None]
        staged, searched = (one.value for one in ended)
        is_lost = not (isinstance(staged, Answer) or isinstance(searched, Answer))
        if staged is None or searched is None or is_lost:  # the program itself ends workers
            continue
        yield Comparison(
            entry.id,
            staged.named[0] if isinstance(staged, Answer) and staged.named else "",
            searched.named if isinstance(searched, Answer) else None,
            *(
                one.value.seconds if isinstance(one.value, Answer) else one.seconds
                for one in ended
            ),
        )  # fmt: skip


def lines_of(compared: Sequence[Comparison]) -> Iterable[str]:
    """Yield the lines of the report: agreements, pairs that do not agree, and times."""
    counts = Counter(one.agreement for one in compared)
    yield f"{len(compared)} counterexamples with a wrong result"
    for agreement in Agreement:
        yield f"  {counts[agreement]:>4}  {agreement.value}"
    for one in compared:
        if one.agreement in (Agreement.ONLY_SEARCH, Agreement.OTHER_PASS):
            yield f"{one.id}: {one.by_stages}; right without: {', '.join(one.by_search or ())}"
    both = [one for one in compared if one.by_stages and one.by_search is not None]
    stages = sum(one.stages_seconds for one in both)
    search = sum(one.search_seconds for one in both)
    if search:
        ratio = stages / search
        yield f"where both answer: {stages:.1f} s by stages, {search:.1f} s by search ({ratio:.2f})"
    lost = [one for one in compared if one.agreement is Agreement.NO_SEARCH]
    searches = plural(len(lost), "search that hangs or crashes", "searches that hang or crash")
    stopped = sum(one.search_seconds for one in lost)
    yield f"not counted: {searches}, stopped after {stopped:.1f} s in all"
    silent = [one for one in compared if one.agreement is Agreement.NO_STAGES]
    spent = sum(one.stages_seconds for one in silent)
    unanswered = f"{plural(len(silent), 'counterexample')} without an answer by stages"
    yield f"not counted: {unanswered}, which took {spent:.1f} s"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--backend", default="cpu")
    asked.add_argument("--every", type=int, default=1, help="take every Nth entry")
    asked.add_argument("--timeout", type=float, default=60.0, help="seconds for an answer")
    given = asked.parse_args()
    entries = load(None, (given.backend,), versions())
    shown = [one for one in entries if one.counterexample is not None][:: given.every]
    trial = Trial(given.backend, 0, 0, 1, expectations=tuple(entries))
    with LocalExecutor(1) as executor:
        compared = list(compare(executor, trial, shown, given.timeout))
    for line in lines_of(compared):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

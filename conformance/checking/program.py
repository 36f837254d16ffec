"""One program on a backend: compiled once, run and judged on each set of inputs.

A program is judged as a whole by perturbed evaluation (conformance/judging/perturbation/judge.py)
and by the backend's own values (conformance/triage/conclusion.py), or, if it is one of StableHLO's
test programs, by its own assertions; for a failing program, the operation at fault is named, unless
expectations match all that is wrong (conformance/triage/attribute.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import is_

from conformance.backends.base import BackendError, Unsupported, failure_of
from conformance.backends.session import Session
from conformance.checking.assertions import judge_assertions
from conformance.checking.explaining import ExplanationTime
from conformance.checking.settings import INVALID
from conformance.checking.step_notes import (
    LEAST_SECONDS,
    UNPROVEN,
    Auditor,
    dependence_notes,
    unspecified_notes,
)
from conformance.executors.limit import OutOfTime, limit_evaluation, memory_note
from conformance.frontends.extensions import unpermitted_violations
from conformance.frontends.modules import Unit
from conformance.frontends.naming import describe_operation
from conformance.gate.expectations import Expectation, hypotheses_of
from conformance.judging.compare import describe_malformed, judge_operation
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import (
    is_different,
    is_single,
    judge_program,
)
from conformance.judging.sets.explain import explain_worst_element
from conformance.known.in_force import in_force
from conformance.limits import Limits
from conformance.localize.culprit import find_culprit
from conformance.localize.rewriting import ModuleExplanation, explain_by_module
from conformance.phases import phase
from conformance.pipeline.outcome import NotJudged, Outcome, Settled, ignore
from conformance.transforms.extract import replace_results
from conformance.transforms.values import operations_within
from conformance.triage.attribute import Explainer, explain_results
from conformance.triage.audit import OperationAudit, audit
from conformance.triage.conclusion import Concluder
from conformance.triage.fault import FailedProgram, Fault, group_title
from conformance.triage.localise import Search
from conformance.triage.misshapen import judge_shown, malformed_results
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, check, evaluate
from reference.ir.errors import OutOfMemoryError
from reference.ir.program import Operation, Program
from reference.ir.types import Array

REFERENCE_BACKEND = ("reference", "reference:right")
"""The name of the backend that is the reference itself."""

RECOMPILATIONS = 3
"""Number of times that a program is recompiled to see whether its results change."""


class ProgramChecker:
    """One program on a backend: compiled once, run and judged on each set of inputs.

    `refusal` is the backend's answer to an invalid program, None while there is none.
    """

    def __init__(
        self,
        unit: Unit,
        session: Session,
        expectations: tuple[Expectation, ...],
        seconds: float,
        explanation_time: ExplanationTime | None = None,
        *,
        explains: bool = False,
    ) -> None:
        """Prepare to run and judge a program.

        `seconds` is the limit of an evaluation by the reference; `explanation_time` limits how long
        a failure is explained. With `explains`, messages say what the program may give.
        """
        self._explains = explains
        self._explanation_time = explanation_time
        self._unit, self._session, self._platform = unit, session, session.hardware
        self._is_reference, self._seconds = session.name in REFERENCE_BACKEND, seconds
        self._settling = Concluder(self.run, self._platform)
        self._hypotheses = hypotheses_of(expectations, session.name)
        self._search = Search(self.run, self._platform, self._explain_by_module)
        self._explained: tuple[Program, list[Array], ModuleExplanation] | None = None
        self._explainer = Explainer(self._search, expectations, session.name)
        self._passed: list[Callable[[], tuple[str, ...]]] = []
        self.refusal: BackendError | None = None
        self._auditor = Auditor(
            self.run,
            self._platform,
            partial(describe_operation, unit),
            lambda operation, judgement: bool(self._explainer.match(operation, judgement)),
        )

    def judge_inputs(self, inputs: tuple[Array, ...], settled: Settled = ignore) -> Outcome:
        """Return the outcome on one set of inputs.

        `settled` is called with a failure before its explanation, which may take long.
        """
        program = self._unit.flat.program
        broken, notes = unpermitted_violations(check(program))
        with in_force(self._hypotheses):
            if broken and not self._unit.assertions:  # tests tell what they expect nevertheless
                return self._judge_invalid(*broken[0])
            try:
                outcome = self._judge_valid(program, inputs, settled)
            except OutOfMemoryError as error:  # of evaluations after the first
                raise self._explain_not_judged(error) from None
        told = (outcome.message, *(() if broken else notes))
        return replace(outcome, message="; ".join(filter(None, told)))

    def _judge_valid(
        self, program: Program, inputs: tuple[Array, ...], settled: Settled
    ) -> Outcome:
        try:
            with limit_evaluation(self._seconds):
                permitted = PermittedResults(program, inputs, self._platform, self._unit.infeeds)
        except EvaluationError as error:
            raise self._explain_not_judged(error) from None
        try:
            if self._is_reference:
                actual: Sequence[Array] = permitted.expected
            else:
                actual = next(self.run(program, [inputs]))
        except Unsupported as error:
            raise NotJudged.by_backend(error) from None
        except BackendError as error:
            refused = Judgement(*failure_of(error), str(error), 0, 0)
            if is_single(program):
                return self._match_single_operation(refused)
            return self._match_refusal(program, inputs, refused)
        if self._unit.assertions:
            outcome = self._judge_test_program(program, inputs, permitted, actual, settled)
        elif is_single(program):
            judgement = judge_operation(program, inputs, permitted.expected, actual, self._platform)
            judgement = explain_results(self._search, program, inputs, actual, judgement)
            outcome = self._match_single_operation(judgement)
            if outcome.verdict is Verdict.PASS and program.process_count == 1:
                given = program, inputs, permitted.expected
                self._passed.append(partial(unspecified_notes, *given))
        else:
            outcome = self._judge_several_operations(program, inputs, permitted, actual, settled)
            if self._explains and describe_malformed(permitted.expected, actual) is None:
                told = explain_worst_element(permitted, actual)
                outcome = replace(outcome, message="; ".join(filter(None, (outcome.message, told))))
        if outcome.is_new_failure and not self._is_reference:
            return self._add_culprit(outcome, inputs, permitted, actual, settled)
        return outcome

    def _judge_test_program(
        self, program: Program, inputs: tuple[Array, ...], permitted: PermittedResults,
        actual: Sequence[Array], settled: Settled,
    ) -> Outcome:  # fmt: skip
        """Return the outcome of a program with assertions."""
        outcome = judge_assertions(
            self._unit.assertions, permitted, actual, is_reference=self._is_reference
        )
        if not outcome.verdict.fails or self._is_reference:
            return outcome

        def explain() -> Outcome:
            found = audit(self.run, self._platform, program, inputs, range(len(actual)))
            judgement = judge_program(permitted, actual)
            return self._explain_outcome(outcome, judgement, program, inputs, actual, found)

        settled(outcome, permitted.expected, actual)
        return self._explain_in_time(outcome, explain)

    def _add_culprit(
        self, outcome: Outcome, inputs: tuple[Array, ...], permitted: PermittedResults,
        actual: Sequence[Array], settled: Settled,
    ) -> Outcome:  # fmt: skip
        """Return a new failure with the compiler's rewritings that explain it, or with the step
        that goes wrong, if dumped stages show it.
        """
        if self._explanation_time is not None and self._explanation_time.seconds_left() <= 0:
            return outcome
        settled(outcome, permitted.expected, actual)

        @phase("locating")
        def explain() -> Outcome:
            program, text = self._unit.flat.program, self._unit.text
            found = self._explain_by_module(program, [inputs], [actual]).whole
            step = "; ".join(f"rewriting by {one}" for one in found) or find_culprit(
                self._session, program, inputs, actual, self._seconds, text
            )
            told = filter(None, (outcome.message, str(step or "")))
            return replace(outcome, message="; ".join(told))

        return self._explain_in_time(outcome, explain)

    def _judge_several_operations(
        self, program: Program, inputs: tuple[Array, ...], permitted: PermittedResults,
        actual: Sequence[Array], on_settled: Settled,
    ) -> Outcome:  # fmt: skip
        """Return the outcome of a program of several operations."""
        if self._is_reference:
            return Outcome.from_judgement(judge_program(permitted, actual))
        if describe_malformed(permitted.expected, actual) is not None:
            return self._judge_malformed(program, inputs, permitted, actual, on_settled)

        def on_wrong(found: OperationAudit) -> None:
            worst = max(
                (one.judgement for one in found.wrong), key=lambda one: one.verdict.severity
            )
            outcome = Outcome(
                worst.verdict, worst.kind, "a result is outside the range that rounding permits"
            )
            on_settled(self._add_first_wrong(outcome, found, actual), permitted.expected, actual)

        began = time.monotonic()
        settled = self._settling.conclude(program, inputs, actual, permitted, on_wrong)
        judgement = settled.judgement
        message = "; ".join(filter(None, (judgement.message, settled.note)))
        outcome = replace(Outcome.from_judgement(judgement), message=message)
        if not outcome.verdict.fails:
            seconds = time.monotonic() - began
            self._passed.append(
                partial(self._notes, outcome, permitted, actual, settled.steps, seconds)
            )
            return outcome
        explain = partial(
            self._explain_outcome, outcome, judgement, program, inputs, actual, settled.steps
        )
        told = self._add_first_wrong(outcome, settled.steps, actual)
        on_settled(told, permitted.expected, actual)
        return self._explain_in_time(told, explain)

    def notes(self) -> tuple[str, ...]:
        """Return notes on unspecified elements, and on operations that exceed their own budget,
        though the program passes.

        They are of the first set of inputs on which there are any.
        """
        with in_force(self._hypotheses):
            return next((found for one in self._passed if (found := one())), ())

    def _notes(
        self, outcome: Outcome, permitted: PermittedResults, actual: Sequence[Array],
        found: OperationAudit | None, judged: float,
    ) -> tuple[str, ...]:  # fmt: skip
        """Return the notes for one set of inputs, given the seconds that judging it took."""
        left = self._explanation_time.seconds_left() if self._explanation_time else math.inf
        seconds = min(max(judged, LEAST_SECONDS), left)
        is_pass = outcome.verdict is Verdict.PASS
        notes = dependence_notes(permitted, seconds) if is_pass else ()
        if not any(map(is_different, permitted.expected, actual)):
            return notes
        given = permitted.program, permitted.inputs, actual, seconds, found
        return (*notes, *self._auditor.notes(*given))

    def _add_first_wrong(
        self, outcome: Outcome, found: OperationAudit | None, actual: Sequence[Array]
    ) -> Outcome:
        """Return the outcome with the first operation that is wrong on its own operands."""
        if found is None or not found.wrong:
            return outcome
        first, proven = found.wrong[0], found.shows_errors(actual)
        fault = Fault(first.operation, first.judgement, first.within, proven=proven)
        return self._blame(outcome, fault)

    def _blame(self, outcome: Outcome, fault: Fault) -> Outcome:
        """Return the outcome with the operation at fault, or with what an audit suggests."""
        message = f"{outcome.message}; {self._describe_fault(fault)}"
        if not fault.proven:
            return replace(outcome, message=message)
        where = describe_operation(self._unit, fault.operation, fault.within)
        elements = fault.judgement.elements or outcome.elements
        return replace(outcome, message=message, operation=where, elements=elements)

    def _explain_in_time(self, outcome: Outcome, explain: Callable[[], Outcome]) -> Outcome:
        """Return the explained outcome, or the outcome without an explanation if time runs out."""
        explanation_time = self._explanation_time or ExplanationTime(Limits(math.inf))
        try:
            return explanation_time.spend(explain)
        except OutOfMemoryError as error:
            note = f"the search for the cause was not finished: {self._explain_not_judged(error)}"
            return replace(outcome, message="; ".join(filter(None, (outcome.message, note))))
        except OutOfTime:
            message = "; ".join(filter(None, (outcome.message, explanation_time.note())))
            return replace(outcome, message=message)

    def _judge_malformed(
        self, program: Program, inputs: tuple[Array, ...], permitted: PermittedResults,
        actual: Sequence[Array], on_settled: Settled,
    ) -> Outcome:  # fmt: skip
        """Return the outcome if some results are not of the right types.

        If these are known, the others are judged like the results of a program of their own.
        """
        wrong = malformed_results(permitted.expected, actual)
        others = [n for n in range(len(actual)) if n not in wrong]
        if not wrong or not others or program.process_count > 1:
            return self._malformed_outcome(program, inputs, permitted, actual)

        def select(
            numbers: Sequence[int],
        ) -> tuple[Program, tuple[Array, ...], PermittedResults, list[Array]]:
            ends = program.main.body.operations[-1].operands
            part = replace_results(program, [ends[n] for n in numbers])
            own = PermittedResults(part, inputs, self._platform, self._unit.infeeds)
            return part, inputs, own, [actual[n] for n in numbers]

        outcome = self._malformed_outcome(*select(wrong))
        if not outcome.known:
            return outcome
        left = self._judge_several_operations(*select(others), on_settled)
        if not left.verdict.fails:
            return outcome
        return replace(left, known=(*outcome.known, *left.known) if left.known else ())

    def _malformed_outcome(
        self, program: Program, inputs: tuple[Array, ...], permitted: PermittedResults,
        actual: Sequence[Array],
    ) -> Outcome:  # fmt: skip
        """Return the outcome for results that are not of the right types: the operation that
        defines the first of them is at fault.
        """
        judgement = judge_program(permitted, actual)
        outcome = Outcome.from_judgement(judgement)
        number = next(iter(malformed_results(permitted.expected, actual)), None)
        made = program.main.body.operations[-1].operands[number] if number is not None else None
        makers = (o for o in program.main.body.operations if made in o.results)
        maker = next(makers, None)
        if number is None or maker is None:
            return outcome
        before = program.main.body.operations[: program.main.body.operations.index(maker)]
        known: tuple[str, ...] = ()
        for one in (maker, *reversed(before)):  # a shape may be wrong because another one is
            matches = (self._explainer.match(o, judgement) for o in operations_within(one))
            if known := next(filter(None, matches), ()):
                maker = one
                break
        shown = None if known else judge_shown(program, maker, inputs, [actual[number]])
        if shown is not None:
            known = self._explainer.match(maker, shown)
        if not known and (found := self._explainer.match_misshaping(program, inputs)):
            maker, known = found[0], (found[1],)
        where = describe_operation(self._unit, maker)
        return replace(outcome, operation=where, known=known, culprit=group_title((maker,)))

    def _judge_invalid(self, operation: Operation, ids: tuple[str, ...]) -> Outcome:
        """Return the outcome of a program that breaks constraints: a backend should refuse it."""
        where = describe_operation(self._unit, operation)
        message = f"breaks {', '.join(ids)} of {operation.name}"
        if not self._is_reference:
            try:
                self._session.compile_cached(self._unit.flat.program, self._unit.text)
            except BackendError as error:
                self.refusal = error
                return Outcome(Verdict.REJECTED, INVALID, message, where)
            known = self._explainer.match_acceptance(operation, ids)
            return Outcome(Verdict.ACCEPTED, ", ".join(ids), message, where, known=known)
        return Outcome(Verdict.REJECTED, INVALID, message, where)

    def _explain_not_judged(self, error: EvaluationError) -> NotJudged:
        """Return why a program is not judged: the operation that the reference cannot evaluate."""
        note = f"; {memory_note()}" if isinstance(error, OutOfMemoryError) else ""
        if error.operation is None:
            return NotJudged(f"{error}{note}")
        return NotJudged(
            f"{error.problem} ({describe_operation(self._unit, error.operation)}){note}"
        )

    def results_of_both(self, inputs: tuple[Array, ...]) -> tuple[Sequence[Array] | None, ...]:
        """Return the results of the reference and of the backend on a set of inputs; None without
        results.
        """
        program = self._unit.flat.program
        try:
            expected = evaluate(program, inputs, infeeds=self._unit.infeeds)
        except EvaluationError:
            expected = None
        try:
            return expected, next(self.run(program, [inputs]))
        except BackendError:
            return expected, None

    def run(self, program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        """Yield the backend's results of a program on each set of inputs.

        Raises:
            BackendError: the backend's answer, when it is an error.
        """
        whole = program == self._unit.flat.program
        return self._session.run(program, sets, self._unit.text if whole else "")

    def _explain_by_module(
        self, program: Program, sets: Sequence[Sequence[Array]], results: Sequence[Sequence[Array]]
    ) -> ModuleExplanation:
        """Return the explanation of results by the compiler's module; see `explain_by_module`.

        The last explanation is kept: a new failure of the whole program is explained again, to name
        the change.
        """
        arrays = [array for one in (*sets, *results) for array in one]
        if self._explained is not None:
            before, kept, explanation = self._explained
            if program == before and len(arrays) == len(kept) and all(map(is_, arrays, kept)):
                return explanation
        text = self._unit.text if program == self._unit.flat.program else ""
        explanation = explain_by_module(self._session, self._seconds, program, sets, results, text)
        self._explained = program, arrays, explanation
        return explanation

    def _match_single_operation(self, judgement: Judgement) -> Outcome:
        """Return the outcome of a program of one operation, which is at fault."""
        outcome = Outcome.from_judgement(judgement)
        if not outcome.verdict.fails:
            return outcome
        operation = self._unit.flat.program.subject
        where = describe_operation(self._unit, operation)
        known = self._explainer.match(operation, judgement)
        return replace(outcome, operation=where, known=known, culprit=group_title((operation,)))

    def _match_refusal(
        self, program: Program, inputs: tuple[Array, ...], refused: Judgement
    ) -> Outcome:
        """Return the outcome of a program of several operations that is refused."""
        outcome = Outcome.from_judgement(refused)
        found = self._explainer.match_refusal(program, inputs, refused)
        if found is None:
            return outcome
        operation, id_ = found
        where = describe_operation(self._unit, operation)
        return replace(outcome, operation=where, known=(id_,), culprit=group_title((operation,)))

    @phase("locating")
    def _explain_outcome(
        self, outcome: Outcome, judgement: Judgement, program: Program,
        inputs: tuple[Array, ...], actual: Sequence[Array], steps_made: OperationAudit | None,
    ) -> Outcome:  # fmt: skip
        """Return the outcome with the operation at fault: the first that no expectation matches, or
        else the first.
        """
        given = (program, inputs, actual, judgement, steps_made, self._unit.infeeds)
        why = self._explainer.explain(FailedProgram(*given))
        fault = why.new or why.first
        if fault is None:
            return outcome
        blamed = replace(
            self._blame(outcome, fault),
            culprit=group_title(fault.group or (fault.operation,)),
            fault=(fault.judgement.verdict, fault.judgement.kind),
        )
        known = why.known
        if not why.is_known:
            known = self._match_nondeterminism(fault, program, inputs, actual)
        if known or why.judgement is None:
            kind = (fault.judgement.kind if self._unit.assertions else "") or outcome.kind
            return replace(blamed, kind=kind, known=known)
        left, ids, first = why.judgement, ", ".join(why.known), self._describe_fault(fault)
        message = f"{left.message}; in addition to the known divergence {ids}, {first}"
        if why.new is None:
            known_one = f"{first}, a known divergence, {ids}"
            message = f"{left.message}; {known_one}; no other fault was found"
        return replace(blamed, verdict=left.verdict, kind=left.kind, message=message)

    def _match_nondeterminism(
        self, fault: Fault, program: Program, inputs: tuple[Array, ...], actual: Sequence[Array]
    ) -> tuple[str, ...]:
        """Return the expectations of nondeterminism that match an operation at fault, if the
        program's results change when it is recompiled. Then no search can find another fault.
        """
        known = self._explainer.match_unsteady(fault.group or (fault.operation,))
        before = [array.tobytes() for array in actual]
        for _ in range(RECOMPILATIONS if known else 0):
            again = self._session.compile(program).run(inputs)
            if [array.tobytes() for array in again] != before:
                return known
        return ()

    def _describe_fault(self, fault: Fault) -> str:
        """Return a text about the operation at fault, the operations without which it is right, and
        its results.
        """
        told = describe_operation(self._unit, fault.operation, fault.within)
        others = [one for one in fault.group if one is not fault.operation]
        if others:
            told += ", together with " + ", ".join(
                describe_operation(self._unit, one) for one in others
            )
        told = f"first wrong: {told}: {fault.judgement.message}"
        return told if fault.proven else f"{UNPROVEN}: {told}"

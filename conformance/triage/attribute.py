"""Attribution: the cause of a program's failure, and the known divergences that explain it.

The steps, in order; the first that answers ends the search:

1. The compiler's own module explains the results: its rewritings are the cause.
2. The audit has wrong operations. Each is run and judged in isolation, on the operands it has in
   the program; if it fails only with others, within the program. If expectations match all that is
   wrong with it, its results are taken as the backend gives them, and the rest is judged again.
3. No operation is wrong by itself: the program is cut, down to the smallest group that fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.catalog import column_of, rule_of
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation, Failure, failures_of, matching_entry
from conformance.judging.compare import MALFORMED, describe_malformed, judge
from conformance.judging.judgement import Judgement, passing_judgement
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.overrides import Override
from conformance.localize.rewriting import Rewriting, can_explain
from conformance.transforms.extract import extract, extract_operation
from conformance.transforms.values import definition_index
from conformance.triage.audit import OperationAudit, WrongOperation, audit, is_stated
from conformance.triage.fault import Explanation, FailedProgram, Fault, group_name
from conformance.triage.localise import Search, mildest_cause
from conformance.triage.misshapen import find_misshaping
from conformance.verdict import Verdict
from generators.case.columns import INVALID
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results


@dataclass(frozen=True, slots=True)
class Explainer:
    """The settings of an attribution: the search, the expectations, and the backend's name."""

    search: Search
    expectations: tuple[Expectation, ...]
    backend: str

    # --- The cause of a failure ------------------------------------------------------------------

    def explain(self, failed: FailedProgram) -> Explanation:
        """Return the cause of a program's failure."""
        if found := self._explain_by_module(failed):
            return found
        if failed.steps is not None and failed.steps.wrong:
            return self._explain_by_audit(failed, failed.steps)
        return self._explain_by_search(failed)

    def _explain_by_module(self, failed: FailedProgram) -> Explanation | None:
        """Return the cause if the compiler's own module explains the results, and expectations
        match each of its rewritings.
        """
        if failed.infeeds or not self.expectations:
            return None
        given = failed.program, [failed.inputs], [failed.actual]
        rewritings = self.search.explain_by_module(*given).whole
        ids = self._match_rewritings(rewritings, failed.judgement)
        if not ids:
            return None
        judgement = replace(failed.judgement, message="; ".join(map(str, rewritings)))
        first = Fault(rewritings[0].operation, judgement)
        return Explanation(ids, first, None, passing_judgement(failed.judgement.total))

    def _explain_by_audit(self, failed: FailedProgram, steps: OperationAudit) -> Explanation:
        """Return the cause among operations that are wrong on their own operands."""
        known: dict[str, None] = {}
        new: WrongOperation | None = None
        explained: set[int] = set()
        for one in steps.wrong:
            outermost = id(one.within[0] if one.within else one.operation)
            ids = self._match_wrong(one)
            if not ids:  # one new fault is enough: later ones may follow from it
                new = one
                explained.discard(outermost)
                break
            known |= dict.fromkeys(ids)
            explained.add(outermost)
        shifts = [*steps.adopted]
        shifts += [one for one in steps.differing if id(one.operation) in explained]
        left = self._judge_rest(failed, steps, shifts, new) if known else None
        proven = self._explains_results(failed, steps)
        first = _fault_of(steps.wrong[0], proven=proven)
        if new is not None:
            fault = _fault_of(new, self._group(new), proven=proven)
            return Explanation(tuple(known), first, fault, left)
        found = Explanation(tuple(known), first, None, left)
        if found.is_known or failed.steps is None:
            return found
        return self._explain_rest(failed, steps, found)

    def _explain_rest(
        self, failed: FailedProgram, steps: OperationAudit, found: Explanation
    ) -> Explanation:
        """Return the cause if only the program that returns all values fails in a known way."""
        judgement = failed.judgement
        if judgement.verdict is Verdict.FLUSHED:
            ids = self.match(steps.wrong[0].operation, judgement)
            passing = passing_judgement(judgement.total) if ids else None
            behind = Explanation(ids, found.first, None, passing)
        else:
            behind = self._explain_by_search(failed)
        if not behind.is_known:
            return found
        return replace(behind, known=tuple(dict.fromkeys((*found.known, *behind.known))))

    def _explains_results(self, failed: FailedProgram, steps: OperationAudit) -> bool:
        """Return whether the program's results follow from the values in the audit."""
        if steps.shows_errors(failed.actual):
            return True
        left = self._judge_with(failed, (*steps.adopted, *steps.differing))
        return left is not None and left.verdict is Verdict.PASS

    def _judge_rest(
        self,
        failed: FailedProgram,
        steps: OperationAudit,
        shifts: Sequence[Override],
        new: WrongOperation | None,
    ) -> Judgement:
        """Judge the program again with the backend's values of known divergences."""
        is_complete = new is None and failed.steps is not None
        if is_complete and steps.has_same_results(failed.actual):
            return passing_judgement(failed.judgement.total)
        left = self._judge_with(failed, shifts)
        return failed.judgement if left is None or (new and not left.verdict.fails) else left

    def _judge_with(self, failed: FailedProgram, shifts: Sequence[Override]) -> Judgement | None:
        """Judge the program with the backend's values of some operations, if that is possible."""
        try:
            permitted = failed.permitted_results(self.search.platform, shifts)
        except EvaluationError:
            return None
        return judge_program(permitted, failed.actual)

    def _explain_by_search(self, failed: FailedProgram) -> Explanation:
        """Return the cause that shows only if the compiler may omit intermediate results."""
        steps = failed.steps
        values = {} if steps is None else steps.values
        fault = self.search.locate(failed.program, failed.inputs, failed.judgement.verdict, values)
        if fault is None:
            return Explanation()
        if steps is None and (shown := self._audit_located(failed, fault.operation)):
            return self._explain_by_audit(failed, shown)
        stated = self._judge_stated(failed, fault, values)
        fault = replace(fault, judgement=stated or fault.judgement)
        judgement, ids = fault.judgement, tuple[str, ...]()
        if len(fault.group) > 1:
            ids = self._match_ids(fault.group, judgement)
        # results after one of another type cannot be judged
        is_own = stated or judgement.verdict is Verdict.FLUSHED or judgement.kind in MALFORMED
        if is_own and not ids:
            ids = self.match(fault.operation, judgement)
        if ids:
            return Explanation(ids, fault, None, passing_judgement(failed.judgement.total))
        return Explanation((), fault, fault)

    def _audit_located(self, failed: FailedProgram, operation: Operation) -> OperationAudit | None:
        """Return the audit of one operation, if it is wrong: not all values can be shown."""
        if failed.infeeds or failed.program.process_count > 1:
            return None
        given = failed.program, failed.inputs, range(len(failed.actual))
        found = audit(self.search.run, self.search.platform, *given, only=operation)
        return found if found is not None and found.wrong else None

    def _judge_stated(
        self, failed: FailedProgram, fault: Fault, values: Mapping[str, Array]
    ) -> Judgement | None:
        """Return the judgement by expectations that predict all results of a located operation.

        The operation may be right in isolation, so its results come from the program or its group.
        """
        operation, program = fault.operation, failed.program
        taken = extract_operation(program, operation, values)
        if taken is None:
            return None
        try:
            if len(fault.group) > 1:
                group, inputs = _extract_group(program, fault.group, operation, values)
                (got,) = self.search.run(group, [inputs])
            else:
                ends = (operand.name for operand in program.main.body.operations[-1].operands)
                shown = dict(zip(ends, failed.actual, strict=False))
                got = [shown[result.name] for result in operation.results]
        except (BackendError, KeyError):
            return None
        judgement = self._judge_by_rule(operation, taken, got)
        return judgement if judgement and is_stated(operation, judgement) else None

    # --- One wrong operation ---------------------------------------------------------------------

    def _match_wrong(self, wrong: WrongOperation) -> tuple[str, ...]:
        """Return the expectations that match all failures of a wrong operation, or none."""
        operation, judgement = wrong.operation, wrong.judgement
        if not self.expectations:
            return ()
        if judgement.kind in MALFORMED:
            return self.match(operation, judgement)
        isolated = self._judge_in_isolation(wrong)
        if isolated is not None:
            return self.match(operation, isolated)
        if is_stated(operation, judgement) and (ids := self.match(operation, judgement)):
            return ids
        group = self._group(wrong)
        ids = self._match_ids(group, judgement) if len(group) > 1 else ()
        return ids or self._match_rewritings_of_group(wrong, group)

    def _judge_in_isolation(self, wrong: WrongOperation) -> Judgement | None:
        """Judge the results of an operation in isolation, on the operands it had.

        None if it does not fail in isolation, or fails differently in its program.
        """
        taken = extract_operation(wrong.program, wrong.operation, wrong.values)
        if taken is None or rule_of(wrong.operation) is None:
            return None
        try:
            (actual,) = self.search.run(taken[0], [taken[1]])
        except BackendError:
            return None
        judgement = self._judge_by_rule(wrong.operation, taken, actual)
        if judgement is None or not judgement.verdict.fails:
            return None
        if equal_results(actual, wrong.results) or _has_all_failures(judgement, wrong.judgement):
            return explain_results(self.search, *taken, actual, judgement)
        return None

    def _judge_by_rule(
        self,
        operation: Operation,
        taken: tuple[Program, tuple[Array, ...]],
        got: Sequence[Array],
    ) -> Judgement | None:
        """Judge an operation's results by the op's rule; None without comparable results."""
        rule = rule_of(operation)
        try:
            expected = evaluate(*taken)
        except EvaluationError:
            return None
        if rule is None or describe_malformed(expected, got) is not None:
            return None
        return judge(*taken, expected, got, rule, platform=self.search.platform)

    def _group(self, wrong: WrongOperation) -> tuple[Operation, ...]:
        """Return the operations that fail together with a wrong operation."""
        operations = wrong.program.main.body.operations
        number = next(n for n, operation in enumerate(operations) if operation is wrong.operation)
        least = mildest_cause(wrong.judgement.verdict)
        found = self.search.find_group(wrong.program, number, wrong.values, least)
        return tuple(operations[n] for n in found)

    def _match_rewritings_of_group(
        self, wrong: WrongOperation, group: Sequence[Operation]
    ) -> tuple[str, ...]:
        """Return the expectations that match the compiler's rewritings of a group as a program of
        its own, if these explain all results that are wrong in the whole program.
        """
        if not group:
            return ()
        program, inputs = _extract_group(wrong.program, group, wrong.operation, wrong.values)
        try:
            (actual,) = self.search.run(program, [inputs])
        except BackendError:
            return ()
        if not equal_results(actual, wrong.results):
            return ()
        rewritings = self.search.explain_by_module(program, [inputs], [actual]).whole
        return self._match_rewritings(rewritings, wrong.judgement)

    # --- Expectations ----------------------------------------------------------------------------

    def match(self, operation: Operation, judgement: Judgement) -> tuple[str, ...]:
        """Return the expectations that match all failures of an operation, or none."""
        return self._match_ids((operation,), judgement)

    def match_unsteady(self, operations: Sequence[Operation]) -> tuple[str, ...]:
        """Return the expectations of nondeterminism that match any of these operations."""
        found = (self._match_one(o, Verdict.DIVERGENT, NOT_DETERMINISTIC) for o in operations)
        return tuple(dict.fromkeys(id_ for id_ in found if id_))

    def match_refusal(
        self, program: Program, inputs: Sequence[Array], judgement: Judgement
    ) -> tuple[Operation, str] | None:
        """Return the operation whose refusal is known, with the expectation's id, or None.

        The match is by the backend's message, the only hint at the refused operation, or by the
        shape of a result.
        """
        said = judgement.verdict, judgement.kind, judgement.message
        for operation in program.walk():
            if id_ := self._match_one(operation, *said):
                return operation, id_
        return self.match_misshaping(program, inputs)

    def match_misshaping(
        self, program: Program, inputs: Sequence[Array]
    ) -> tuple[Operation, str] | None:
        """Return the operation that is known to give a value of another type, with the
        expectation's id.

        None if the program's results are not of the stated types without it, too.
        """
        return find_misshaping(self.search.run, program, inputs, self._match_one)

    def match_acceptance(self, operation: Operation, ids: Sequence[str]) -> tuple[str, ...]:
        """Return the expectations that match compiling an op with these broken constraints, if all
        constraints are matched.
        """
        cell = operation.name, INVALID.name, self.backend
        return self._match_all([Failure(*cell, Verdict.ACCEPTED, id_) for id_ in ids])

    def _match_one(
        self, operation: Operation, verdict: Verdict, kind: str, message: str = ""
    ) -> str:
        cell = operation.name, column_of(operation), self.backend
        failure = Failure(*cell, verdict, kind, message, operation=operation)
        return matching_entry(self.expectations, failure)

    def _match_ids(self, group: Sequence[Operation], judgement: Judgement) -> tuple[str, ...]:
        """Return the expectations that match the failures of a group by its name, or none."""
        cell = group_name(group), column_of(group[-1]), self.backend
        return self._match_all(failures_of(cell, judgement.failures, group[-1]))

    def _match_rewritings(
        self, rewritings: Sequence[Rewriting], judgement: Judgement
    ) -> tuple[str, ...]:
        """Return the expectations that have these rewritings as causes, if all are matched."""
        said = self.backend, judgement.verdict, judgement.kind, judgement.message
        failures = [
            Failure(rewriting.operation.name, column_of(rewriting.operation), *said,
                    operation=rewriting.operation, causes=(str(rewriting),))
            for rewriting in rewritings
        ]  # fmt: skip
        return self._match_all(failures, [e for e in self.expectations if e.cause is not None])

    def _match_all(
        self, failures: Sequence[Failure], expectations: Sequence[Expectation] | None = None
    ) -> tuple[str, ...]:
        entries = self.expectations if expectations is None else expectations
        ids = [matching_entry(entries, failure) for failure in failures]
        return tuple(dict.fromkeys(ids)) if all(ids) else ()


def explain_results(
    search: Search,
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    judgement: Judgement,
) -> Judgement:
    """Return the judgement on an operation's results with their explanation by the compiler's
    module.
    """
    if not can_explain(judgement):
        return judgement
    return search.explain_by_module(program, [inputs], [actual]).apply(judgement)


def _fault_of(wrong: WrongOperation, group: tuple[Operation, ...] = (), *, proven: bool) -> Fault:
    return Fault(wrong.operation, wrong.judgement, wrong.within, group, proven)


def _has_all_failures(isolated: Judgement, whole: Judgement) -> bool:
    """Return whether the operation's failures in isolation include its failures in the program."""
    is_worse = whole.verdict.severity > isolated.verdict.severity
    return not is_worse and whole.wrong_classes <= isolated.wrong_classes


def _extract_group(
    program: Program,
    operations: Sequence[Operation],
    last: Operation,
    values: Mapping[str, Array],
) -> tuple[Program, list[Array]]:
    """Return operations of main as a program that returns what the last gives, and its inputs."""
    places = definition_index(program)
    group = extract(
        program, {places[operation.results[0].name] for operation in operations}, last.results
    )
    return group, [values[argument.name] for argument in group.main.arguments]

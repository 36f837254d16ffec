"""Attribution: known divergences among the operations at fault in a failing program.

An operation at fault is run and judged in isolation, on the operands it has in the program; an
operation that fails only with others is judged within the program. If expectations match all that
is wrong with it, its results are taken as the backend gives them, and the rest of the program is
judged again.
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
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.overrides import Override
from conformance.localize.rewriting import Rewriting
from conformance.transforms.extract import extract, extract_operation
from conformance.transforms.values import definition_index
from conformance.triage.audit import OperationAudit, WrongOperation, audit, is_stated
from conformance.triage.fault import Explanation, FailedProgram, Fault, group_name
from conformance.triage.halving import explain_by_stretch
from conformance.triage.isolation import judge_by_rule, judge_folded, judge_in_isolation
from conformance.triage.localise import LocatedOperation, Search, mildest_cause
from conformance.triage.misshapen import find_misshaping
from conformance.triage.regions import match_in_regions
from conformance.triage.unpredictable import follows_from_unpredictable
from conformance.verdict import Verdict
from generators.case.columns import INVALID
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results

PAIR = 2
"""Smallest number of operations that make a group."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """The settings of an attribution: the search, the expectations, and the backend's name."""

    search: Search
    expectations: tuple[Expectation, ...]
    backend: str

    def explain(self, failed: FailedProgram) -> Explanation:
        """Return the cause of a program's failure."""
        return self._match_whole_rewriting(failed) or self._explain_operations(failed)

    def _explain_operations(self, failed: FailedProgram) -> Explanation:
        """Return the cause of a failure, sought among the program's operations."""
        steps = failed.steps
        if steps is None and not failed.infeeds and failed.program.process_count == 1:
            found = explain_by_stretch(self.search, self.explain, failed)
            if found is not None:
                return found
        if steps is None or not steps.wrong:
            return self._explain_by_search(failed)
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
        left = None
        if known:
            left = self._judge_rest(failed, steps, shifts, new)
        proven = self._explains_results(failed, steps)
        first = replace(Fault.from_blamed(steps.wrong[0]), proven=proven)
        if new is not None:
            fault = replace(Fault.from_blamed(new, self._group(new)), proven=proven)
            return Explanation(tuple(known), first, fault, left)
        found = Explanation(tuple(known), first, None, left)
        if left is None or not left.verdict.fails:
            return found
        return self._explain_unshown(failed, steps, found)

    def _match_whole_rewriting(self, failed: FailedProgram) -> Explanation | None:
        """Return the cause if the compiler's own module explains the results, and expectations
        match each of its rewritings.
        """
        if failed.infeeds or not self.expectations:
            return None
        given = failed.program, [failed.inputs], [failed.actual]
        rewritings = self.search.explain_by_module(*given).whole
        ids = [self._match_rewriting(one, failed.judgement) for one in rewritings]
        if not rewritings or not all(ids):
            return None
        total = failed.judgement.total
        judgement = replace(failed.judgement, message="; ".join(map(str, rewritings)))
        first = Fault(rewritings[0].operation, judgement)
        return Explanation(tuple(dict.fromkeys(ids)), first, None, passing_judgement(total))

    def _match_rewriting(self, rewriting: Rewriting, judgement: Judgement) -> str:
        """Return the expectation that has a rewriting as its cause, "" for none."""
        operation, causes = rewriting.operation, (str(rewriting),)
        said = self.backend, judgement.verdict, judgement.kind, judgement.message
        cell = operation.name, column_of(operation)
        asked = Failure(*cell, *said, operation=operation, causes=causes)
        return matching_entry([e for e in self.expectations if e.cause is not None], asked)

    def _explain_unshown(
        self, failed: FailedProgram, steps: OperationAudit, found: Explanation
    ) -> Explanation:
        """Return the cause if only the program that returns all values fails in a known way."""
        judgement = failed.judgement
        passing = passing_judgement(judgement.total)
        given = failed, steps, self.search.platform
        if follows_from_unpredictable(*given, self._may_be_anything):
            return replace(found, judgement=passing)
        if judgement.verdict is Verdict.FLUSHED:
            ids = self.match(steps.wrong[0].operation, judgement)
            behind = Explanation(ids, found.first, None, passing if ids else None)
        else:
            behind = self._explain_by_search(failed)
        if not behind.is_known:
            return found
        return replace(behind, known=tuple(dict.fromkeys((*found.known, *behind.known))))

    def _explains_results(self, failed: FailedProgram, steps: OperationAudit) -> bool:
        """Return whether the program's results follow from the values in the audit."""
        if steps.shows_errors(failed.actual):
            return True
        try:
            shifts = (*steps.adopted, *steps.differing)
            permitted = failed.permitted_results(self.search.platform, shifts)
        except EvaluationError:
            return False
        return judge_program(permitted, failed.actual).verdict is Verdict.PASS

    def _judge_rest(
        self,
        failed: FailedProgram,
        steps: OperationAudit,
        shifts: Sequence[Override],
        new: WrongOperation | None,
    ) -> Judgement:
        """Judge the program again with the backend's values of known divergences."""
        if new is None and steps.has_same_results(failed.actual):
            return passing_judgement(failed.judgement.total)
        try:
            permitted = failed.permitted_results(self.search.platform, shifts)
        except EvaluationError:
            return failed.judgement
        left = judge_program(permitted, failed.actual)
        return left if left.verdict.fails or new is None else failed.judgement

    def _explain_by_search(self, failed: FailedProgram) -> Explanation:
        """Return the cause that shows only if the compiler may omit intermediate results."""
        program, actual, judgement = failed.program, failed.actual, failed.judgement
        values = None if failed.steps is None else failed.steps.values
        ends = [one.name for one in program.main.body.operations[-1].operands]
        shown = dict(zip(ends, actual, strict=False))
        found = self.search.locate(program, failed.inputs, judgement.verdict, values)
        if found is None:
            return Explanation()
        named = self._judge_group(program, found, values or {}, shown)
        found = found if named is None else replace(found, judgement=named)
        fault = Fault.from_blamed(found)
        # results after one of another type cannot be judged
        is_all = len(fault.group) > 1 or found.judgement.kind in MALFORMED
        group = fault.group or (fault.operation,)
        ids = self._match_ids(group, found.judgement) if is_all else ()
        if named is not None or found.judgement.verdict is Verdict.FLUSHED:
            ids = ids or self.match(found.operation, found.judgement)
        if ids:
            return Explanation(ids, fault, None, passing_judgement(judgement.total))
        return Explanation((), fault, fault)

    def _judge_group(
        self,
        program: Program,
        found: LocatedOperation,
        values: Mapping[str, Array],
        shown: Mapping[str, Array],
    ) -> Judgement | None:
        """Return the judgement by an expectation or with constants folded that explains all results
        of the located group, or None.

        `shown` are the program's own results by name.
        """
        operation, rule = found.operation, rule_of(found.operation)
        taken = extract_operation(program, operation, values)
        if len(found.group) < PAIR:
            return self._judge_shown(operation, taken, shown)
        if taken is None or rule is None:
            return None
        try:
            expected = evaluate(*taken)
            actual = tuple(self._run_group(program, found.group, operation, values))
            if describe_malformed(expected, actual) is not None:
                return None
            folded = judge_folded(self.search, program, operation, values, actual)
            if folded is not None:
                return folded
            judgement = judge(*taken, expected, actual, rule, platform=self.search.platform)
        except (BackendError, EvaluationError, KeyError):
            return None
        return judgement if is_stated(operation, judgement) else None

    def _judge_shown(
        self,
        operation: Operation,
        taken: tuple[Program, tuple[Array, ...]] | None,
        shown: Mapping[str, Array],
    ) -> Judgement | None:
        """Return the judgement by an expectation that explains the operation's shown results, or
        None.

        The operation may be right in isolation.
        """
        got = [shown[one.name] for one in operation.results if one.name in shown]
        if taken is None or len(got) < len(operation.results):
            return None
        judgement = judge_by_rule(self.search, operation, taken, got)
        return judgement if judgement is not None and is_stated(operation, judgement) else None

    def _group(self, wrong: WrongOperation) -> tuple[Operation, ...]:
        """Return the operations that fail together with a wrong operation."""
        operations = wrong.program.main.body.operations
        number = next(n for n, one in enumerate(operations) if one is wrong.operation)
        least = mildest_cause(wrong.judgement.verdict)
        found = self.search.find_group(wrong.program, number, wrong.values, least)
        return tuple(operations[n] for n in found)

    def _match_wrong(self, wrong: WrongOperation) -> tuple[str, ...]:
        """Return the expectations that match all failures of a wrong operation, or none."""
        if not self.expectations:
            return ()
        if wrong.judgement.kind in MALFORMED:
            return self.match(wrong.operation, wrong.judgement) or self._match_regions(wrong)
        judgement = judge_in_isolation(self.search, wrong)
        if judgement is not None:
            return self.match(wrong.operation, judgement) or self._match_regions(wrong)
        if is_stated(wrong.operation, wrong.judgement) and (
            ids := self.match(wrong.operation, wrong.judgement)
        ):
            return ids
        return self._match_folded(wrong) or self._match_group(wrong)

    def _match_folded(self, wrong: WrongOperation) -> tuple[str, ...]:
        given = wrong.program, wrong.operation, wrong.values
        judgement = judge_folded(self.search, *given, wrong.results)
        return () if judgement is None else self.match(wrong.operation, judgement)

    def _match_group(self, wrong: WrongOperation) -> tuple[str, ...]:
        group = self._group(wrong)
        if len(group) < PAIR:
            return ()
        ids = self._match_ids(group, wrong.judgement)
        return ids or self._match_rewritings_of_group(wrong, group)

    def _match_rewritings_of_group(
        self, wrong: WrongOperation, group: Sequence[Operation]
    ) -> tuple[str, ...]:
        """Return the expectations that match the compiler's rewritings of a group as a program of
        its own, if these explain all results that are wrong in the whole program.
        """
        program, inputs = _extract_group(wrong.program, group, wrong.operation, wrong.values)
        try:
            (actual,) = self.search.run(program, [inputs])
        except BackendError:
            return ()
        if not equal_results(actual, wrong.results):
            return ()
        rewritings = self.search.explain_by_module(program, [inputs], [actual]).whole
        ids = [self._match_rewriting(one, wrong.judgement) for one in rewritings]
        return tuple(dict.fromkeys(ids)) if all(ids) else ()

    def _run_group(
        self,
        program: Program,
        operations: Sequence[Operation],
        last: Operation,
        values: Mapping[str, Array],
    ) -> Sequence[Array]:
        """Return the backend's results of operations of main as a program of their own."""
        group, inputs = _extract_group(program, operations, last, values)
        (got,) = self.search.run(group, [inputs])
        return got

    def _match_regions(self, wrong: WrongOperation) -> tuple[str, ...]:
        return match_in_regions(self.search.run, wrong, self._match_region)

    def _match_region(
        self, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
    ) -> tuple[str, ...] | None:
        """Return the expectations that match all failures of a region's results."""
        permitted = PermittedResults(program, inputs, self.search.platform)
        judgement = judge_program(permitted, actual)
        if not judgement.verdict.fails:
            return ()
        numbers = range(len(actual))
        made = audit(self.search.run, self.search.platform, program, inputs, numbers)
        found = self.explain(FailedProgram(program, inputs, actual, judgement, made))
        return found.known if found.is_known else None

    def _may_be_anything(self, wrong: WrongOperation) -> bool:
        """Return whether entries match a wrong operation that predict none of its elements."""
        ids = self._match_wrong(wrong)
        entries = [one for one in self.expectations if one.id in ids]
        return bool(entries) and all(one.unpredictable and not one.computes for one in entries)

    def match(self, operation: Operation, judgement: Judgement) -> tuple[str, ...]:
        """Return the expectations that match all failures of an operation, or none."""
        return self._match_ids((operation,), judgement)

    def match_unsteady(self, operations: Sequence[Operation]) -> tuple[str, ...]:
        """Return the expectations of nondeterminism that match any of these operations."""
        failures = (
            Failure(one.name, column_of(one), self.backend, Verdict.DIVERGENT, NOT_DETERMINISTIC)
            for one in operations
        )
        found = (matching_entry(self.expectations, failure) for failure in failures)
        return tuple(dict.fromkeys(id_ for id_ in found if id_))

    def match_refusal(
        self, program: Program, inputs: Sequence[Array], judgement: Judgement
    ) -> tuple[Operation, str] | None:
        """Return the operation whose refusal is known, with the expectation's id, or None.

        The match is by the backend's message, the only hint at the refused operation, or by the
        shape of a result.
        """
        for operation in program.walk():
            name, of = operation.name, column_of(operation)
            said = (judgement.verdict, judgement.kind, judgement.message)
            failure = Failure(name, of, self.backend, *said, operation=operation)
            if id_ := matching_entry(self.expectations, failure):
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

    def _match_one(self, operation: Operation, verdict: Verdict, kind: str, message: str) -> str:
        said = (self.backend, verdict, kind, message)
        asked = Failure(operation.name, column_of(operation), *said, operation=operation)
        return matching_entry(self.expectations, asked)

    def match_acceptance(self, operation: Operation, ids: Sequence[str]) -> tuple[str, ...]:
        """Return the expectations that match compiling an op with these broken constraints, or
        none.

        Every constraint in `ids` must be matched.
        """
        failures = [
            Failure(operation.name, INVALID.name, self.backend, Verdict.ACCEPTED, id_)
            for id_ in ids
        ]
        return self._match_all(failures)

    def _match_ids(self, group: Sequence[Operation], judgement: Judgement) -> tuple[str, ...]:
        """Return the expectations that match the failures of a group by its name, or none."""
        name, of = group_name(group), column_of(group[-1])
        asked = failures_of((name, of, self.backend), judgement.failures, group[-1])
        return self._match_all(asked)

    def _match_all(self, failures: Sequence[Failure]) -> tuple[str, ...]:
        ids = [matching_entry(self.expectations, failure) for failure in failures]
        return tuple(dict.fromkeys(ids)) if all(ids) else ()


def _extract_group(
    program: Program,
    operations: Sequence[Operation],
    last: Operation,
    values: Mapping[str, Array],
) -> tuple[Program, list[Array]]:
    """Return operations of main as a program that returns what the last gives, and its inputs."""
    places = definition_index(program)
    group = extract(program, {places[one.results[0].name] for one in operations}, last.results)
    return group, [values[one.name] for one in group.main.arguments]

"""What of a failing program is known: expectations asked about the operations that go wrong.

An operation that goes wrong is run and judged alone, on the operands that it has in the program; of
one that does so only together with others, what is wrong in the program counts. If expectations
know all that is wrong with it, its results are taken as the backend gives them, and what is left to
explain is judged anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.catalog import column, rule_of
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation, Failure, failures_of, known_by
from conformance.judging.compare import MALFORMED, Judgement, judge, malformed, renamed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import computed_instead, judge_program, passed
from conformance.judging.perturbation.overrides import Override
from conformance.known.programs import OF_PROGRAMS, concerned
from conformance.known.rewritings.table import is_rewriting
from conformance.known.rewritings.values import Shown
from conformance.transforms.extract import alone, hands_on_constants, part
from conformance.transforms.substitute import with_constant
from conformance.transforms.values import makers_of, used_by
from conformance.triage.carried import carried
from conformance.triage.fault import Explained, FailedProgram, Fault
from conformance.triage.halving import in_a_stretch
from conformance.triage.isolate import Steps, Wrong, steps
from conformance.triage.localise import Located, Search, least_of
from conformance.triage.misshapen import misshaping
from conformance.triage.prediction import is_modelled
from conformance.triage.regions import known_in_regions, same
from conformance.triage.rewritings import of_class, rewritten
from conformance.verdict import Verdict
from generators.case.columns import INVALID
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

PAIR = 2
"""Operations that are a group at least."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """What stays the same: the search, the expectations, and the backend by name."""

    search: Search
    expectations: tuple[Expectation, ...]
    backend: str

    def explained(self, failed: FailedProgram) -> Explained:
        """Return what is behind the failure of a program."""
        judgement, steps = failed.judgement, failed.steps
        if judgement.kind in OF_PROGRAMS:  # and that explains all of it
            for operation in concerned(judgement.kind, failed.program):
                if ids := self.known(operation, judgement):
                    return Explained(
                        ids, Fault(operation, judgement), None, passed(judgement.total)
                    )
        if steps is None and not failed.infeeds and failed.program.process_count == 1:
            found = in_a_stretch(self.search, self.explained, failed)
            if found is not None:
                return found
        if steps is None or not steps.wrong:
            return self._searched(failed)
        known: dict[str, None] = {}
        new: Wrong | None = None
        explained: set[int] = set()
        for one in steps.wrong:
            outermost = id(one.within[0] if one.within else one.operation)
            ids = self._known(one)
            if not ids:  # one is enough: what comes after it need not be asked about
                new = one
                explained.discard(outermost)
                break
            known |= dict.fromkeys(ids)
            explained.add(outermost)
        shifts = [*steps.adopted]
        shifts += [one for one in steps.differing if id(one.operation) in explained]
        left = None
        if known:
            left = self._left(failed, steps, shifts, new)
        first = Fault.of(steps.wrong[0])
        if new is not None:
            return Explained(tuple(known), first, Fault.of(new, self._group(new)), left)
        found = Explained(tuple(known), first, None, left)
        if left is None or not left.verdict.fails:
            return found
        return self._behind(failed, steps, found)

    def _behind(self, failed: FailedProgram, steps: Steps, found: Explained) -> Explained:
        """What was found, all of it known, where the program goes wrong otherwise than where all
        of its results are shown: what is flushed there need not be where it is fused."""
        judgement = failed.judgement
        if _is_flushed(judgement):
            ids = self.known(steps.wrong[0].operation, judgement)
            behind = Explained(ids, found.first, None, passed(judgement.total) if ids else None)
        else:
            behind = self._searched(failed)
        if not behind.is_known:
            ids = self._rewritten(failed, steps)
            behind = Explained(ids, found.first, None, passed(judgement.total) if ids else None)
        if not behind.is_known:
            return found
        return replace(behind, known=tuple(dict.fromkeys((*found.known, *behind.known))))

    def _rewritten(self, failed: FailedProgram, steps: Steps) -> tuple[str, ...]:
        """The expectations that know rewritings which make the program's results of the values that
        the backend has; none where any result is neither that nor right on these values."""
        known: dict[str, None] = {}
        program, makers = failed.program, makers_of(failed.program)
        ends = program.main.body.operations[-1].operands
        for value, got in zip(ends, failed.actual, strict=True):
            place = makers.get(value.name)
            if place is None:
                continue
            operation = program.main.body.operations[place]
            taken = alone(program, operation, steps.values)
            if taken is None or len(operation.results) > 1:
                return ()
            try:
                expected = evaluate(*taken)
            except EvaluationError:
                return ()
            if same(expected, [got]):
                continue
            given = (program, operation, steps.values, expected, (got,))
            found = rewritten(*given, failed.judgement)
            ids = self.known(operation, found) if is_rewriting(found.kind) else ()
            if not ids:
                return ()
            known |= dict.fromkeys(ids)
        return tuple(known)

    def _left(
        self, failed: FailedProgram, steps: Steps, shifts: Sequence[Override], new: Wrong | None
    ) -> Judgement:
        """The judgement once what is known is taken as the backend has it."""
        if new is None and steps.gives(failed.actual):
            return passed(failed.judgement.total)
        try:
            permitted = failed.permitted(self.search.platform, shifts)
        except EvaluationError:
            return failed.judgement
        left = judge_program(permitted, failed.actual)
        return left if left.verdict.fails or new is None else failed.judgement

    def _searched(self, failed: FailedProgram) -> Explained:
        """What goes wrong only where the compiler may leave results out."""
        program, actual, judgement = failed.program, failed.actual, failed.judgement
        values = None if failed.steps is None else failed.steps.values
        ends = [one.name for one in program.main.body.operations[-1].operands]
        shown = dict(zip(ends, actual, strict=False))
        found = self.search.first(program, failed.inputs, judgement.verdict, values)
        if found is None:
            return Explained()
        found, is_by_itself = self._modelled(program, found, values or {}, shown)
        if values is not None and not is_by_itself:
            group = found.group or (found.operation,)
            seen = carried(program, failed.inputs, actual, group, values, self.search.platform)
            if seen is not None:
                judgement = of_class(found.judgement, seen[1])
                found, is_by_itself = replace(found, operation=seen[0], judgement=judgement), True
        fault = Fault.of(found)
        # of what comes after a result of another type nothing can be told
        is_all = len(fault.group) > 1 or found.judgement.kind in MALFORMED
        group = fault.group or (fault.operation,)
        ids = self._ids(group, found.judgement) if is_all else ()
        if is_by_itself or _is_flushed(found.judgement):
            ids = ids or self.known(found.operation, found.judgement)
        if ids:
            return Explained(ids, fault, None, passed(judgement.total))
        return Explained((), fault, fault)

    def _modelled(
        self,
        program: Program,
        found: Located,
        values: Mapping[str, Array],
        shown: Mapping[str, Array],
    ) -> tuple[Located, bool]:
        """What was found, with the class of what explains all that its group gives, and whether
        that is about the operation by itself: a model of the op, a rewriting, or its folding.

        `shown` are the program's own results, by name.
        """
        operation, rule = found.operation, rule_of(found.operation)
        taken = alone(program, operation, values)
        is_rewritten = is_rewriting(found.judgement.kind)
        if len(found.group) < PAIR:
            named = self._as_shown(found, taken, shown)
            return named or found, is_rewritten or named is not None
        try:
            group, inputs, got = self._run(program, found.group, operation, values)
            if label := self._instead(operation, group, inputs, got):
                return replace(found, judgement=renamed(found.judgement, label)), True
            if taken is None or rule is None:
                return found, is_rewritten
            expected, actual = evaluate(*taken), tuple(got)
            if malformed(expected, actual) is not None:
                return found, is_rewritten
            judgement = self._folded(program, operation, values, actual)
            if judgement is None:
                judgement = judge(*taken, expected, actual, rule, platform=self.search.platform)
                if not is_modelled(operation, judgement, self.search.platform):
                    given = (program, operation, values, expected, actual)
                    judgement = rewritten(*given, found.judgement)
                    return replace(found, judgement=judgement), is_rewriting(judgement.kind)
        except (BackendError, EvaluationError, KeyError):
            return found, is_rewritten
        return replace(found, judgement=judgement), True

    def _as_shown(
        self,
        found: Located,
        taken: tuple[Program, tuple[Array, ...]] | None,
        shown: Mapping[str, Array],
    ) -> Located | None:
        """What was found, with the class of a model that explains what the program shows of the
        operation's results: by itself it may be right. None where there is no such model."""
        operation = found.operation
        got = [shown[one.name] for one in operation.results if one.name in shown]
        if taken is None or len(got) < len(operation.results):
            return None
        judgement = self._by_rule(operation, taken, got)
        if judgement is None or not is_modelled(operation, judgement, self.search.platform):
            return None
        return replace(found, judgement=judgement)

    def _by_rule(
        self,
        operation: Operation,
        taken: tuple[Program, tuple[Array, ...]],
        got: Sequence[Array],
    ) -> Judgement | None:
        """The judgement by an op's own rule on what its operation gave, taken by itself; None where
        there is no such rule, or nothing to compare."""
        rule = rule_of(operation)
        try:
            expected = evaluate(*taken)
        except EvaluationError:
            return None
        if rule is None or malformed(expected, got) is not None:
            return None
        return judge(*taken, expected, got, rule, platform=self.search.platform)

    def _folded(
        self,
        program: Program,
        operation: Operation,
        values: Mapping[str, Array],
        got: Sequence[Array],
    ) -> Judgement | None:
        """The judgement on an operation by itself, on constants where its operands are made of
        constants alone, which compilers fold; None where it gives other results so, or is right."""
        taken, rule = alone(program, operation, values), rule_of(operation)
        shown = Shown(program, values)
        folded = {one.name for one in used_by(operation) if shown.is_folded(one)}
        if taken is None or rule is None:
            return None
        whole, inputs = taken
        given = dict(zip((one.name for one in whole.main.arguments), inputs, strict=True))
        if folded.isdisjoint(given):
            return None
        for name in folded & given.keys():
            whole = with_constant(whole, name, given[name])
        inputs = tuple(given[one.name] for one in whole.main.arguments)
        try:
            (actual,) = self.search.run(whole, [inputs])
        except BackendError:
            return None
        expected = evaluate(whole, inputs)
        if malformed(expected, actual) is not None or not same(actual, got):
            return None
        judgement = judge(whole, inputs, expected, actual, rule, platform=self.search.platform)
        return judgement if judgement.verdict.fails else None

    def _group(self, wrong: Wrong) -> tuple[Operation, ...]:
        """The operations that go wrong together with one that is wrong where it stands."""
        operations = wrong.program.main.body.operations
        number = next(n for n, one in enumerate(operations) if one is wrong.operation)
        least = least_of(wrong.judgement.verdict)
        found = self.search.group(wrong.program, number, wrong.values, least)
        return tuple(operations[n] for n in found)

    def _known(self, wrong: Wrong) -> tuple[str, ...]:
        """The expectations that know all that is wrong with an operation, or none."""
        if not self.expectations:
            return ()
        if is_rewriting(wrong.judgement.kind) or wrong.judgement.kind in MALFORMED:
            return self.known(wrong.operation, wrong.judgement) or self._known_within(wrong)
        judgement = self._alone(wrong)
        if judgement is not None and judgement.verdict.fails:
            return self.known(wrong.operation, judgement) or self._known_within(wrong)
        if is_modelled(wrong.operation, wrong.judgement, self.search.platform) and (
            ids := self.known(wrong.operation, wrong.judgement)
        ):
            return ids
        return self._known_folded(wrong) or self._known_group(wrong)

    def _known_folded(self, wrong: Wrong) -> tuple[str, ...]:
        got = [
            wrong.values[one.name] for one in wrong.operation.results if one.name in wrong.values
        ]
        judgement = self._folded(wrong.program, wrong.operation, wrong.values, got)
        return () if judgement is None else self.known(wrong.operation, judgement)

    def _known_group(self, wrong: Wrong) -> tuple[str, ...]:
        group = self._group(wrong)
        if len(group) < PAIR:
            return ()
        try:
            taken = self._run(wrong.program, group, wrong.operation, wrong.values)
            label = self._instead(wrong.operation, *taken)
        except (BackendError, EvaluationError, KeyError):
            label = ""
        if label:
            return self.known(wrong.operation, renamed(wrong.judgement, label))
        return self._ids(group, wrong.judgement)

    def _instead(
        self, operation: Operation, group: Program, inputs: Sequence[Array], got: Sequence[Array]
    ) -> str:
        """The class of what explains all that a group gives and is about an operation, or ""."""
        other = computed_instead(Permitted(group, inputs, self.search.platform), got)
        is_about = other is not None and operation in concerned(other.label, group)
        return other.label if other is not None and is_about else ""

    def _run(
        self,
        program: Program,
        operations: Sequence[Operation],
        last: Operation,
        values: Mapping[str, Array],
    ) -> tuple[Program, list[Array], Sequence[Array]]:
        """Some operations of main as a program of their own, its inputs, and what it gives."""
        places = makers_of(program)
        kept = {places[one.results[0].name] for one in operations}
        group = part(program, kept, last.results)
        inputs = [values[one.name] for one in group.main.arguments]
        (got,) = self.search.run(group, [inputs])
        return group, inputs, got

    def _known_within(self, wrong: Wrong) -> tuple[str, ...]:
        return known_in_regions(self.search.run, wrong, self._region_known)

    def _region_known(
        self, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
    ) -> tuple[str, ...] | None:
        """Return the expectations that know what is wrong with the results of a region."""
        permitted = Permitted(program, inputs, self.search.platform)
        judgement = judge_program(permitted, actual)
        if not judgement.verdict.fails:
            return ()
        numbers = range(len(actual))
        made = steps(self.search.run, self.search.platform, program, inputs, numbers)
        found = self.explained(FailedProgram(program, inputs, actual, judgement, made))
        return found.known if found.is_known else None

    def _alone(self, wrong: Wrong) -> Judgement | None:
        """The judgement on what the operation gives by itself, on the operands it had."""
        taken = alone(wrong.program, wrong.operation, wrong.values)
        if taken is None or rule_of(wrong.operation) is None:
            return None
        try:
            (actual,) = self.search.run(taken[0], [taken[1]])
        except BackendError:
            return None
        return self._by_rule(wrong.operation, taken, actual)

    def known(self, operation: Operation, judgement: Judgement) -> tuple[str, ...]:
        """The expectations that together know all that is wrong with an operation, or none."""
        return self._ids((operation,), judgement)

    def unsteady(self, operations: Sequence[Operation]) -> tuple[str, ...]:
        """The expectations that know of one of these operations that it does not give the same
        results each time, or none."""
        failures = (
            Failure(one.name, column(one), self.backend, Verdict.DIVERGENT, NOT_DETERMINISTIC)
            for one in operations
        )
        found = (known_by(self.expectations, failure) for failure in failures)
        return tuple(dict.fromkeys(id_ for id_ in found if id_))

    def refusal(
        self, program: Program, inputs: Sequence[Array], judgement: Judgement
    ) -> tuple[Operation, str] | None:
        """The operation of a refused program whose refusal is known, and as what.

        By its words: nothing else tells which operation a refusal is about. Or by the shape of what
        it gives.
        """
        for operation in program.walk():
            name, of = operation.name, column(operation)
            said = (judgement.verdict, judgement.kind, judgement.message)
            failure = Failure(name, of, self.backend, *said, operation=operation)
            if id_ := known_by(self.expectations, failure):
                return operation, id_
        return misshaping(self.search.run, program, inputs, self._knows_divergent)

    def _knows_divergent(self, operation: Operation, kind: str, message: str) -> str:
        said = (self.backend, Verdict.DIVERGENT, kind, message)
        return known_by(self.expectations, Failure(operation.name, column(operation), *said))

    def known_acceptance(self, operation: Operation, ids: Sequence[str]) -> tuple[str, ...]:
        """The expectations that together know that an operation which breaks these constraints is
        compiled, or none."""
        failures = [
            Failure(operation.name, INVALID.name, self.backend, Verdict.ACCEPTED, id_)
            for id_ in ids
        ]
        return self._all_known(failures)

    def _ids(self, group: Sequence[Operation], judgement: Judgement) -> tuple[str, ...]:
        """The same of a group of operations, known by their names together."""
        name, of = group_name(group), column(group[-1])
        asked = failures_of((name, of, self.backend), judgement.failures, group[-1])
        return self._all_known(asked)

    def _all_known(self, failures: Sequence[Failure]) -> tuple[str, ...]:
        ids = [known_by(self.expectations, failure) for failure in failures]
        return tuple(dict.fromkeys(ids)) if all(ids) else ()


def _is_flushed(judgement: Judgement) -> bool:
    return judgement.verdict is Verdict.FLUSHED


def group_name(group: Sequence[Operation]) -> str:
    """What expectations call operations that go wrong together: their names, in order, once each
    where they follow each other, such as `convolution + maximum + reduce`."""
    names = [one.name for one in group if not hands_on_constants(one)] or [group[-1].name]
    kept = [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name]
    return " + ".join(kept)


def called(group: Sequence[Operation]) -> str:
    """What expectations call operations that go wrong together, and their element type."""
    return " ".join(filter(None, (group_name(group), column(group[-1]))))

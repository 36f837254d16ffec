"""What of a failing program is known: expectations asked about the operations that go wrong.

The first operation that goes wrong is run and judged alone, on the operands that it has in the
program. If expectations know all that is wrong with it, its results are taken as the backend gives
them, and the search goes on behind it, until what the program returns is explained or an operation
goes wrong that no expectation knows.

Of a loop every iteration is looked at, on what the reference carries; what a loop makes of errors
that are known is then taken as the backend gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.alone import alone, column
from conformance.backends.base import BackendError
from conformance.compare import Judgement, judge, malformed
from conformance.expectations import Expectation, known_by
from conformance.locate import Located, Part, Search, least_of, values_of
from conformance.moves import rule_of
from conformance.permitted import Permitted
from conformance.perturb import judge_program
from conformance.shifts import Shift
from conformance.verdict import Record, Verdict
from reference.evaluate import EvaluationError, evaluate
from reference.program import Operation, Program
from reference.types import Array

MOST = 32
"""Known operations of a program beyond which the search ends."""

_REGIONS = ("while", "if", "case")

Infeeds = Sequence[Sequence[Array]] | None


@dataclass(frozen=True, slots=True)
class Explained:
    """What is behind a failure.

    `known` are the ids of the expectations met, `first` the operation that goes wrong first,
    `new` the first of those that no expectation knows; `judgement` is on what is left to explain
    once what is known is taken as given, None while nothing is.
    """

    known: tuple[str, ...] = ()
    first: Located | None = None
    new: Located | None = None
    judgement: Judgement | None = None

    @property
    def is_known(self) -> bool:
        """Whether nothing is left to explain."""
        return self.judgement is not None and not self.judgement.verdict.fails


@dataclass(frozen=True, slots=True)
class Explainer:
    """What stays the same: the search, the expectations, and the backend by name."""

    search: Search
    expectations: tuple[Expectation, ...]
    backend: str

    def explained(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        worst: Verdict,
        infeeds: Infeeds = None,
    ) -> Explained:
        """What is behind the failure of a program that gave these results on these inputs."""
        done = Explained()
        shifts: list[Shift] = []
        while len(shifts) <= MOST:
            found = self.search.first(program, inputs, worst, shifts)
            if found is None:
                return done
            if any(shift.is_of(found.operation) for shift in shifts):
                return replace(done, new=found)
            ids, shift, found = self._looked_into(program, inputs, found, worst, shifts)
            done = replace(done, first=done.first or found)
            if not ids or shift is None:
                return replace(done, new=found)
            shifts.append(shift)
            permitted = Permitted(program, inputs, self.search.platform, infeeds, shifts)
            judgement = judge_program(permitted, actual)
            done = replace(
                done, known=tuple(dict.fromkeys((*done.known, *ids))), judgement=judgement
            )
            if not judgement.verdict.fails:
                return done
            worst = judgement.verdict
        return done

    def _looked_into(
        self,
        program: Program,
        inputs: Sequence[Array],
        found: Located,
        worst: Verdict,
        shifts: Sequence[Shift],
    ) -> tuple[tuple[str, ...], Shift | None, Located]:
        """The expectations that know what goes wrong, the results to go on with, and the place.

        The place is within the loop or the branch where it can be told.
        """
        operation = found.operation
        ids: tuple[str, ...] = ()
        if operation.name in _REGIONS:
            try:
                values = values_of(program, inputs, shifts)
                ids, inner = self._of_parts(self.search.parts(operation, values, least_of(worst)))
            except (BackendError, EvaluationError, KeyError):
                return (), None, found
            if inner is not None:
                within = (operation, *inner.within)
                found = replace(inner, within=within, values=found.values)
            if not ids:
                return (), None, found
        if not self.expectations:
            return (), None, found
        values = values_of(program, inputs, shifts) | dict(found.values)
        shift, judgement = self._alone(program, operation, values)
        if not ids and judgement is not None:
            ids = self.known(operation, judgement)
        return ids, shift, found

    def _of_parts(self, parts: Iterable[Part]) -> tuple[tuple[str, ...], Located | None]:
        """What knows all that goes wrong in a loop or a branch, and the first place, or else that
        of what is not known."""
        known: dict[str, None] = {}
        first: Located | None = None
        clear = True
        for part in parts:
            found = self.explained(part.program, part.inputs, part.actual, part.judgement.verdict)
            if found.new is not None:
                return (), found.new
            clear &= found.is_known
            known |= dict.fromkeys(found.known)
            first = first or found.first
        return (tuple(known), first) if clear else ((), None)

    def _alone(
        self, program: Program, operation: Operation, values: Mapping[str, Any]
    ) -> tuple[Shift | None, Judgement | None]:
        """What an operation gives by itself beside the reference, and the judgement on it."""
        taken = alone(program, operation, values)
        rule = rule_of(operation)
        if taken is None or rule is None:
            return None, None
        try:
            expected = evaluate(*taken)
            (actual,) = self.search.run(taken[0], [taken[1]])
        except (BackendError, EvaluationError):
            return None, None
        if malformed(expected, actual) is not None:
            return None, None
        judgement = judge(*taken, expected, actual, rule, platform=self.search.platform)
        return Shift(operation, expected, tuple(actual)), judgement

    def known(self, operation: Operation, judgement: Judgement) -> tuple[str, ...]:
        """The expectations that together know all that is wrong with an operation, or none."""
        findings = judgement.findings or ((judgement.verdict, judgement.kind),)
        ids = [
            known_by(self.expectations, self._record(operation, judgement, *finding))
            for finding in findings
        ]
        return tuple(dict.fromkeys(ids)) if all(ids) else ()

    def _record(
        self, operation: Operation, judgement: Judgement, verdict: Verdict, kind: str
    ) -> Record:
        return Record(
            operation.name, column(operation), self.backend, 0, "", verdict, kind,
            worst_ulp=judgement.worst_ulp,
        )  # fmt: skip

"""The operation of a program whose results go wrong where no operation is wrong on its operands.

A compiler that is free to leave intermediate results out may rewrite several operations together.
The program is cut behind operations until the first is found with which it goes wrong, and from
there backwards to the smallest group of operations that is wrong on its own inputs.

Programs here are one function (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.backends.base import BackendError
from conformance.judging.compare import Judgement, malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import by_mistake, judge_program, judge_result
from conformance.transforms.extract import part, prefix
from conformance.transforms.values import can_be_result, makers_of, used_by
from conformance.triage.influence import value_matters
from conformance.triage.isolate import Run
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

MOST_OPERATIONS = 24
"""How many operations a group may have before the search for a smaller one is given up."""


@dataclass(frozen=True, slots=True)
class Located:
    """An operation with which a program goes wrong, and the judgement on its results.

    `group` are the operations that go wrong together, the one among them; it alone where it does so
    alone, none where that cannot be told.
    """

    operation: Operation
    judgement: Judgement
    group: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same while programs are searched: how to run them, and the platform."""

    run: Run
    platform: str

    def first(
        self,
        program: Program,
        inputs: Sequence[Array],
        worst: Verdict,
        values: Mapping[str, Array] | None = None,
    ) -> Located | None:
        """The first operation of main whose result has a verdict as severe as the program's.

        `values` are those that the backend has, by name, for the search for a group. None when it
        cannot be told: the backend refuses what is asked, or all seems right.
        """
        least = least_of(worst)
        try:
            found = self._by_prefixes(program, inputs, least)
        except (BackendError, EvaluationError):
            return None
        if found is None:
            return None
        number, judgement = found
        group = self.group(program, number, values or {}, least)
        operations = program.main.body.operations
        return Located(operations[number], judgement, tuple(operations[n] for n in group))

    def _by_prefixes(
        self, program: Program, inputs: Sequence[Array], least: Verdict
    ) -> tuple[int, Judgement] | None:
        """Bisection: the longest prefix that is right ends before the operation looked for.

        But where that operation's own results are right, and only let the compiler see to another
        that it had left in peace, it is the one that makes the first wrong result.
        """
        operations = program.main.body.operations[:-1]
        right, wrong = 0, len(operations)
        found: tuple[str, Judgement] | None = None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            ends = program.main.body.operations[-1].operands
            following = part(program, range(middle, len(operations)), ends)
            before = prefix(program, middle)
            bad = self._bad(before, inputs, least, operations[middle - 1], following)
            if bad is None:
                right = middle
            else:
                wrong, found = middle, bad
        found = found or self._bad(program, inputs, least, operations[-1])
        if found is None:
            return None
        name, judgement = found
        return makers_of(program).get(name, wrong - 1), judgement

    def _bad(
        self,
        program: Program,
        inputs: Sequence[Array],
        least: Verdict,
        last: Operation,
        following: Program | None = None,
    ) -> tuple[str, Judgement] | None:
        """Return a wrong result of main, of the last operation where it has one: its name, "" where
        it cannot be told, and the judgement on it.

        Where the program goes on, with `following`, the result must matter to what that returns;
        in programs of one process.
        """
        if not program.main.result_types:
            return None
        (actual,) = self.run(program, [inputs])
        permitted = Permitted(program, inputs, self.platform)
        if malformed(permitted.expected, actual) is not None:
            judgement = judge_program(permitted, actual)
            return ("", judgement) if _wrong(judgement, least) else None
        own = {value.name for value in last.results}
        names = [value.name for value in program.main.body.operations[-1].operands]
        values: dict[str, Array] = {}
        if program.process_count > 1:  # each has values of its own: none says what follows
            names, following = names * program.process_count, None
        else:
            values |= zip((one.name for one in program.main.arguments), inputs, strict=True)
            values |= zip(names, actual, strict=True)
        for number in sorted(range(len(names)), key=lambda n: names[n] not in own):
            judgement = judge_result(permitted, number, actual[number])
            name, right = names[number], permitted.expected[number]
            if _wrong(judgement, least) and (
                following is None or value_matters(following, self.platform, values, name, right)
            ):
                return names[number], by_mistake(permitted, actual, judgement)
        return None

    def group(
        self, program: Program, last: int, values: Mapping[str, Array], least: Verdict
    ) -> tuple[int, ...]:
        """The numbers of the operations of main that go wrong together, the last of them given.

        Operations before it are taken in, level by level, until it goes wrong with them on the
        values that the backend has; then each that does not matter is left out again. None where
        it goes wrong with none of these groups.
        """
        operations = program.main.body.operations[:-1]
        makers = makers_of(program)
        kept = {last}
        while not self._is_bad_group(program, kept, last, values, least):
            before = {
                makers[v.name] for n in kept for v in used_by(operations[n]) if v.name in makers
            }
            before = {n for n in before if not is_constant(operations[n])}
            if before <= kept or len(kept | before) > MOST_OPERATIONS:
                return ()
            kept |= before
        for number in sorted(kept - {last}):
            if self._is_bad_group(program, kept - {number}, last, values, least):
                kept.discard(number)
        return tuple(sorted(kept))

    def _is_bad_group(
        self,
        program: Program,
        kept: set[int],
        last: int,
        values: Mapping[str, Array],
        least: Verdict,
    ) -> bool:
        operation = program.main.body.operations[last]
        results = [value for value in operation.results if can_be_result(value)]
        group = part(program, kept, results)
        names = [argument.name for argument in group.main.arguments]
        if not results or not all(name in values for name in names):
            return False
        try:
            given = [values[name] for name in names]
            return self._bad(group, given, least, operation) is not None
        except (BackendError, EvaluationError):
            return False


def least_of(worst: Verdict) -> Verdict:
    """The mildest verdict of an operation that may be behind that of the whole."""
    return min(worst, Verdict.INACCURATE, key=lambda verdict: verdict.severity)


def _wrong(judgement: Judgement, least: Verdict) -> bool:
    return judgement.verdict.fails and judgement.verdict.severity >= least.severity

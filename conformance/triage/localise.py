"""Localisation by cuts, for programs whose operations are each right on their operands.

A compiler that may leave out intermediate results may rewrite several operations as a single
operation. The program is cut behind operations until the first failing prefix is found. From its
end the search goes backwards to the smallest group of operations that is wrong on its own inputs.

The programs are one function (see `conformance.transforms.inline`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.backends.base import BackendError
from conformance.judging.compare import describe_malformed
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program, judge_result
from conformance.localize.rewriting import ExplainByModule, explain_nothing
from conformance.transforms.extract import extract, prefix
from conformance.transforms.values import can_be_result, definition_index, used_values
from conformance.triage.audit import Run
from conformance.triage.fault import Fault
from conformance.triage.influence import is_influential_value
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.structure import is_constant

MOST_OPERATIONS = 24
"""Largest number of operations in a group; the search ends beyond it."""


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of a search: the function that runs programs, the platform, and the function
    that asks the compiler's module.
    """

    run: Run
    platform: str
    explain_by_module: ExplainByModule = explain_nothing

    def locate(
        self,
        program: Program,
        inputs: Sequence[Array],
        worst: Verdict,
        values: Mapping[str, Array] | None = None,
    ) -> Fault | None:
        """Return the first operation of main whose result is as severe a failure as the program's.

        `values` are the backend's by name, for the search for a group. None if the backend refuses
        a prefix, all results seem right, or main only returns its arguments.
        """
        if len(program.main.body.operations) == 1:
            return None
        least = mildest_cause(worst)
        try:
            found = self._locate_by_prefixes(program, inputs, least)
        except (BackendError, EvaluationError):
            return None
        if found is None:
            return None
        number, judgement = found
        operations = program.main.body.operations
        group = self.find_group(program, number, values or {}, least)
        group = tuple(operations[n] for n in group)
        return Fault(operations[number], judgement, group=group)

    def _locate_by_prefixes(
        self, program: Program, inputs: Sequence[Array], least: Verdict
    ) -> tuple[int, Judgement] | None:
        """Return the operation after the longest right prefix, by bisection.

        If that operation's own results are right, and it only lets the compiler rewrite another,
        the operation of the first wrong result is returned.
        """
        operations = program.main.body.operations[:-1]
        right, wrong = 0, len(operations)
        found: tuple[str, Judgement] | None = None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            ends = program.main.body.operations[-1].operands
            following = extract(program, range(middle, len(operations)), ends)
            before = prefix(program, middle)
            bad = self._wrong_result(before, inputs, least, operations[middle - 1], following)
            if bad is None:
                right = middle
            else:
                wrong, found = middle, bad
        found = found or self._wrong_result(program, inputs, least, operations[-1])
        if found is None:
            return None
        name, judgement = found
        return definition_index(program).get(name, wrong - 1), judgement

    def _wrong_result(
        self,
        program: Program,
        inputs: Sequence[Array],
        least: Verdict,
        last: Operation,
        following: Program | None = None,
    ) -> tuple[str, Judgement] | None:
        """Return name and judgement of a wrong result of main, of the last operation if possible.

        The name is "" if unknown. With `following`, the rest of the program, the result must affect
        the program's results; only in programs of one process.
        """
        if not program.main.result_types:
            return None
        (actual,) = self.run(program, [inputs])
        permitted = PermittedResults(program, inputs, self.platform)
        if describe_malformed(permitted.expected, actual) is not None:
            judgement = judge_program(permitted, actual)
            return ("", judgement) if _is_wrong(judgement, least) else None
        own = {value.name for value in last.results}
        names = [value.name for value in program.main.body.operations[-1].operands]
        values: dict[str, Array] = {}
        if program.process_count > 1:  # each process has its own values
            names, following = names * program.process_count, None
        else:
            values |= zip(
                (argument.name for argument in program.main.arguments), inputs, strict=True
            )
            values |= zip(names, actual, strict=True)
        for number in sorted(range(len(names)), key=lambda n: names[n] not in own):
            judgement = judge_result(permitted, number, actual[number])
            name, right = names[number], permitted.expected[number]
            if _is_wrong(judgement, least) and (
                following is None
                or is_influential_value(following, self.platform, values, name, right)
            ):
                return names[number], judgement
        return None

    def find_group(
        self, program: Program, last: int, values: Mapping[str, Array], least: Verdict
    ) -> tuple[int, ...]:
        """Return the indices of the operations of main that fail together with `last`.

        Operations before it are added level by level, until the group fails on the backend's
        values. Then each operation that does not matter is removed. Empty if no group fails.
        """
        operations = program.main.body.operations[:-1]
        makers = definition_index(program)
        kept = {last}
        while not self._is_bad_group(program, kept, last, values, least):
            before = {
                makers[v.name] for n in kept for v in used_values(operations[n]) if v.name in makers
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
        group = extract(program, kept, results)
        names = [argument.name for argument in group.main.arguments]
        if not results or not all(name in values for name in names):
            return False
        try:
            given = [values[name] for name in names]
            return self._wrong_result(group, given, least, operation) is not None
        except (BackendError, EvaluationError):
            return False


def mildest_cause(worst: Verdict) -> Verdict:
    """Return the mildest verdict of an operation that may cause a program's verdict."""
    return min(worst, Verdict.INACCURATE, key=lambda verdict: verdict.severity)


def _is_wrong(judgement: Judgement, least: Verdict) -> bool:
    return judgement.verdict.fails and judgement.verdict.severity >= least.severity

"""The conclusion on a program whose results differ from the expected results.

Perturbed evaluation cannot decide in three cases: other values depend on an unspecified value,
rounding decides an integer or an i1 value, or a result is sensitive to tiny errors of its operands.
Then every operation is judged on the backend's own operands (conformance/triage/audit.py). Wrong
operations are at fault. If none is wrong, and the program's results follow from permitted values,
the program is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.judging.compare import describe_malformed
from conformance.judging.judgement import Judgement, passing_judgement
from conformance.judging.lapack.residuals import has_free_choices
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import (
    judge_program,
    judge_result,
    unreached_results,
)
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import find_copies, is_cheap
from conformance.phases import phase
from conformance.transforms.dead_code import restrict_to
from conformance.transforms.extract import replace_results
from conformance.transforms.values import can_be_result, working_operations
from conformance.triage.audit import OperationAudit, Run, audit
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array

CHOICE = "choice that cannot be shown"
"""The class of results that follow from a decomposition whose values the backend cannot return."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A judgement on a program, and the audit on which it is based.

    `adopted` counts operations with unspecified results, which were taken as the backend has them.
    `follows`: all values that lead to the results are permitted, though perturbed evaluation does
    not reach the results.
    """

    judgement: Judgement
    steps: OperationAudit | None = None
    adopted: int = 0
    follows: bool = False

    @property
    def note(self) -> str:
        """A remark for the reader on how the program was judged; may be empty."""
        notes: list[str] = []
        if self.adopted:
            which = "results" if self.adopted > 1 else "result"
            notes.append(
                f"{self.adopted} {which} judged with the backend's own values, "
                "because these are unspecified"
            )
        if self.follows and not self.adopted:
            notes.append(
                "every operation is right on its own operands; "
                "the program is sensitive to their rounding errors"
            )
        return "; ".join(notes)


@dataclass(frozen=True, slots=True)
class Concluder:
    """Judge of programs whose results differ: runs programs by `run`, on a platform."""

    run: Run
    platform: str

    @phase("settling")
    def conclude(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        permitted: PermittedResults,
        on_wrong: Callable[[OperationAudit], None] = lambda _: None,
    ) -> Conclusion:
        """Return the conclusion on a program's results, given the permitted results.

        `on_wrong` is called as soon as operations are found that make results wrong. The rest takes
        long and only says how the results are wrong.
        """
        right = passing_judgement(sum(one.size for one in actual))
        if describe_malformed(permitted.expected, actual) is not None:
            return Conclusion(judge_program(permitted, actual))
        numbers = unreached_results(permitted, actual)
        if not numbers:
            return Conclusion(right)
        found = audit(self.run, self.platform, program, inputs, numbers)
        if found is None and any(map(has_free_choices, program.walk())):
            return Conclusion(replace(right, verdict=Verdict.UNSPECIFIED, kind=CHOICE))
        if found is None or found.wrong:
            return Conclusion(_judge_failed(permitted, actual, found, on_wrong), found)
        return self._follow_values(program, inputs, actual, permitted, found)

    def _follow_values(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        permitted: PermittedResults,
        found: OperationAudit,
    ) -> Conclusion:
        """Return the conclusion from the backend's values, if none of them is wrong."""
        right, adopted = passing_judgement(sum(one.size for one in actual)), len(found.adopted)
        if found.has_same_results(actual) and not found.unsettled:
            return Conclusion(right, found, adopted, follows=True)
        judgement = judge_program(permitted, actual)
        if judgement.verdict is Verdict.PASS:
            return Conclusion(judgement)
        if found.adopted:
            left = self._judge_with_adopted(program, inputs, actual, found.adopted) or judgement
            if left.verdict is Verdict.PASS:
                return Conclusion(right, found, adopted)
            judgement = left if left.verdict.fails else judgement
        if program.process_count > 1:  # each process has its own values
            return Conclusion(judgement, found)
        ends = program.main.body.operations[-1].operands
        wanted = [ends[number] for number in found.ends]
        given = [actual[number] for number in found.ends]
        for cut in _cuts(restrict_to(program, wanted), found.adopted):
            if self._is_derivable(program, inputs, wanted, given, cut):
                return Conclusion(right, found, adopted, follows=True)
        return Conclusion(judgement, found)

    def _judge_with_adopted(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        adopted: Sequence[Override],
    ) -> Judgement | None:
        """Judge the program with the backend's values of unspecified results, if that is
        possible.
        """
        try:
            permitted = PermittedResults(program, inputs, self.platform, shifts=adopted)
        except EvaluationError:
            return None
        return judge_program(permitted, actual)

    def _is_derivable(
        self,
        program: Program,
        inputs: Sequence[Array],
        wanted: Sequence[Value],
        given: Sequence[Array],
        cut: Sequence[Value],
    ) -> bool:
        """Return whether all intermediate values of the backend are permitted, and results follow
        from them.
        """
        whole = replace_results(program, [*cut, *wanted])
        try:
            (arrays,) = self.run(whole, [inputs])
            arrays = arrays[: len(cut)]
            taken = {value.name: array for value, array in zip(cut, arrays, strict=True)}
            permitted = PermittedResults(whole, inputs, self.platform, taken=taken)
            on_the_way = [judge_result(permitted, n, one) for n, one in enumerate(arrays)]
            ends = [judge_result(permitted, len(cut) + n, one) for n, one in enumerate(given)]
        except (BackendError, EvaluationError):
            return False
        return not any(one.verdict.fails for one in on_the_way) and all(
            end.verdict is Verdict.PASS for end in ends
        )


def _judge_failed(
    permitted: PermittedResults,
    actual: Sequence[Array],
    found: OperationAudit | None,
    on_wrong: Callable[[OperationAudit], None],
) -> Judgement:
    """Return the judgement on a program without an audit, or with wrong operations in it: on the
    whole if it fails, else on the worst operation.
    """
    if found is None or not found.shows_errors(actual):
        return judge_program(permitted, actual)
    on_wrong(found)
    judgement = judge_program(permitted, actual)
    if judgement.verdict.fails:
        return judgement
    worst = max((one.judgement for one in found.wrong), key=lambda one: one.verdict.severity)
    message = (
        f"an operation is wrong, though the program's result is unspecified ({judgement.kind})"
    )
    return replace(judgement, verdict=worst.verdict, kind=worst.kind, message=message)


def _cuts(program: Program, adopted: Sequence[Override]) -> Iterator[list[Value]]:
    """Yield sets of intermediate values to be returned from the program in one run.

    In order: as many as possible, those that a backend keeps anyway, the unspecified, then kept
    values one by one.
    """
    operations = working_operations(program)
    copied = find_copies(program)
    open_ = {value for shift in adopted for value in shift.operation.results}

    def of(some: Sequence[Operation]) -> list[Value]:
        return [v for one in some for v in one.results if can_be_result(v)]

    kept = [v for v in of([o for o in operations if not is_cheap(o)]) if v.name not in copied]
    discrete = of([operation for operation in operations if _is_discrete(operation)])
    found = [
        of(operations),
        list(dict.fromkeys((*kept, *discrete, *open_))),
        list(dict.fromkeys((*kept, *open_))),
        list(dict.fromkeys((*discrete, *open_))),
        list(open_),
        *([value] for value in kept[:SINGLE_CUTS]),
    ]
    seen: set[frozenset[Value]] = set()
    for cut in found:
        if cut and frozenset(cut) not in seen:
            seen.add(frozenset(cut))
            yield cut


SINGLE_CUTS = 8
"""Largest number of kept values that are returned one by one."""


def _is_discrete(operation: Operation) -> bool:
    """Return whether rounding of the operands may change an integer or an i1 value."""

    def rounds(values: Sequence[Value]) -> bool:
        types = [value.type for value in values if isinstance(value.type, TensorType)]
        return any(of.stored.is_float or of.stored.is_complex for of in types)

    return rounds(operation.operands) and not rounds(operation.results)

"""Notes on operations of a passing program that exceed their own budget.

The bound of a whole program covers the errors of all its operations together: an operation deep in
a long program may be off by far more than it may be by itself. So where results differ at all from
the reference's, each operation is judged on the operands that the backend has for it, as for a
program that fails. It costs one more compilation with all results as outputs, and one evaluation of
each operation. Longer programs than `MOST_OPERATIONS` are left out, and it may take no longer than
the verdict took, or `LEAST_SECONDS`: the note then says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.checking.settings import UNJUDGED
from conformance.executors.limit import OutOfTime, interrupt_after
from conformance.judging.joint_results import operand_tracer
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.triage.audit import OperationAudit, Run, WrongOperation, audit
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements
from reference.unspecified.table import unspecified_elements

MOST_OPERATIONS = 2000
"""Largest number of operations of a program that are judged one by one."""

LEAST_SECONDS = 20.0
"""Number of seconds that judging operations one by one may always take."""

UNPROVEN = "not proven, because the backend gives other results when it returns all values"
"""Introduces statements about operations that come from such a run."""

SHOWN = 3
"""Largest number of operations with a note of their own; the others are counted."""

_WITHOUT_ACCURACY = (Verdict.PASS, Verdict.UNSPECIFIED, Verdict.FLUSHED)
"""Verdicts on an operation that do not concern its accuracy."""

Describe = Callable[[Operation, tuple[Operation, ...]], str]
"""describe(operation, the loops and branches around it): the operation in the user's words."""

IsKnown = Callable[[Operation, Judgement], bool]
"""is_known(operation, judgement): whether an expectation matches."""


@dataclass(frozen=True, slots=True)
class Auditor:
    """Judgement of the operations of a program one by one, and notes about them."""

    run: Run
    platform: str
    describe: Describe
    is_known: IsKnown

    def notes(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        seconds: float,
        found: OperationAudit | None = None,
    ) -> tuple[str, ...]:
        """Return the notes on a program that passes with the results `actual`.

        `seconds` is how long this may take at most; `found` are the steps, where they were made
        already.
        """
        count, results = len(program.main.body.operations) - 1, len(program.main.result_types)
        if found is None and count > MOST_OPERATIONS:
            return (f"{UNJUDGED}: there are {count}, more than {MOST_OPERATIONS}",)
        if found is None and seconds <= 0:
            return (f"{UNJUDGED}: no time was left",)
        try:
            if found is None:
                with interrupt_after(seconds, OutOfTime()):
                    found = audit(self.run, self.platform, program, inputs, range(results))
        except OutOfTime:
            return (f"{UNJUDGED}: it took longer than {seconds:.0f} s",)
        if found is None:
            return (f"{UNJUDGED}: the backend cannot return all their results",)
        notes = tuple(self._describe_steps(found))
        if found.has_same_results(actual):
            return notes
        return tuple(f"{UNPROVEN}: {note}" for note in notes)

    def _describe_steps(self, found: OperationAudit) -> Iterator[str]:
        """Yield a note for each of the first inaccurate operations, and one with the number of the
        rest.
        """
        wrong = [one for one in (*found.wrong, *found.harmless) if self._is_told(one)]
        for one in wrong[:SHOWN]:
            where = self.describe(one.operation, one.within)
            yield (
                f"{where} exceeds its own budget on its own operands, within the bound of the "
                f"whole program: {one.judgement.message}"
            )
        if len(wrong) > SHOWN:
            yield f"so do {len(wrong) - SHOWN} more operations"

    def _is_told(self, one: WrongOperation) -> bool:
        return one.judgement.verdict not in _WITHOUT_ACCURACY and not self.is_known(
            one.operation, one.judgement
        )


def unspecified_notes(
    program: Program, inputs: Sequence[Array], expected: Sequence[Array]
) -> tuple[str, ...]:
    """Return notes on unspecified elements in the results of a program of one operation."""
    operation, operands = operand_tracer(program, inputs)()
    return tuple(
        f"{mask.sum()} of {mask.size} elements are unspecified ({label})"
        f"{'' if label.startswith('order of') else ': any value passes'}"
        for index, result in enumerate(expected)
        for label, mask in unspecified_elements(operation, operands, result, index)
    )


def dependence_notes(permitted: PermittedResults, seconds: float) -> tuple[str, ...]:
    """Return a note on results that depend on unspecified intermediate elements, if any do.

    It takes one evaluation, and is left out after `seconds`.
    """
    expected = permitted.expected
    try:
        with interrupt_after(max(seconds, 0.001), OutOfTime()):
            permitted.restrict_to(range(len(expected)))
            filled = permitted.filled_samples(1)[:1]
    except (OutOfTime, EvaluationError):
        return ()
    pairs = [pair for sample in filled for pair in zip(expected, sample, strict=True)]
    dependent = sum(int((~equal_elements(*pair)).sum()) for pair in pairs)
    if not dependent:
        return ()
    total, reasons = sum(one.size for one in expected), ", ".join(permitted.reasons)
    noun, verb = ("element", "depends") if total == 1 else ("elements", "depend")
    return (f"{dependent} of {total} {noun} {verb} on unspecified values ({reasons})",)

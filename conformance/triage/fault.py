"""The cause of a failure: the operations at fault, and the known divergences they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.catalog import column_of
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.overrides import Override
from conformance.transforms.extract import is_folded_constant
from conformance.triage.audit import OperationAudit
from reference.ir.program import Operation, Program
from reference.ir.types import Array


@dataclass(frozen=True, slots=True)
class Fault:
    """An operation at fault, and the judgement on it.

    `within` are the loops and branches around it, the outermost first. `group` are the operations
    that fail together, this one among them; empty if unknown. It is not `proven` if it is known
    only from an audit whose results are not the program's.
    """

    operation: Operation
    judgement: Judgement
    within: tuple[Operation, ...] = ()
    group: tuple[Operation, ...] = ()
    proven: bool = True


@dataclass(frozen=True, slots=True)
class FailedProgram:
    """A program that failed on these inputs, with its results and the judgement.

    `steps` is the audit of its operations, if all could be shown. `infeeds` are the processes'
    infeeds.
    """

    program: Program
    inputs: Sequence[Array]
    actual: Sequence[Array]
    judgement: Judgement
    steps: OperationAudit | None = None
    infeeds: Sequence[Sequence[Array]] | None = None

    def permitted_results(self, platform: str, shifts: Sequence[Override] = ()) -> PermittedResults:
        """Return the permitted results, with some intermediate values shifted.

        Raises:
            EvaluationError: if the program cannot be evaluated.
        """
        return PermittedResults(self.program, self.inputs, platform, self.infeeds, shifts)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The cause of a failure.

    `known` are the ids of matching expectations. `first` is the first operation at fault, `new` the
    first that no expectation matches. `judgement` is the judgement on the program with the known
    divergences accepted; None if no divergence is known.
    """

    known: tuple[str, ...] = ()
    first: Fault | None = None
    new: Fault | None = None
    judgement: Judgement | None = None

    @property
    def is_known(self) -> bool:
        """Whether expectations match all that is wrong."""
        return self.new is None and self.judgement is not None and not self.judgement.verdict.fails


def group_name(group: Sequence[Operation]) -> str:
    """Return the name of a group in expectations, such as `convolution + maximum + reduce`.

    It lists the operations' names in order, with adjacent repetitions once, without constants and
    data movement before the last operation.
    """
    names = [one.name for one in group if one is group[-1] or not is_folded_constant(one)]
    kept = [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name]
    return " + ".join(kept)


def group_title(group: Sequence[Operation]) -> str:
    """Return the name of a group in expectations, with its element type."""
    return " ".join(filter(None, (group_name(group), column_of(group[-1]))))

"""What is behind a failure: the operations that go wrong, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.judging.compare import Judgement
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.overrides import Override
from conformance.triage.isolate import Steps, Wrong
from conformance.triage.localise import Located
from reference.ir.program import Operation, Program
from reference.ir.types import Array


@dataclass(frozen=True, slots=True)
class Fault:
    """An operation that goes wrong, the loops and branches around it (the outermost first), and
    the judgement; `group` are those that it goes wrong together with, itself among them."""

    operation: Operation
    judgement: Judgement
    within: tuple[Operation, ...] = ()
    group: tuple[Operation, ...] = ()

    @classmethod
    def of(cls, blamed: Wrong | Located, group: tuple[Operation, ...] = ()) -> Fault:
        """What was found going through the program, or cutting it."""
        if isinstance(blamed, Located):
            return cls(blamed.operation, blamed.judgement, (), blamed.group)
        return cls(blamed.operation, blamed.judgement, blamed.within, group)


@dataclass(frozen=True, slots=True)
class FailedProgram:
    """A program that failed on these inputs: what it gave, the judgement, and its operations each
    by itself, if they could be shown. `infeeds` are what its processes were fed."""

    program: Program
    inputs: Sequence[Array]
    actual: Sequence[Array]
    judgement: Judgement
    steps: Steps | None = None
    infeeds: Sequence[Sequence[Array]] | None = None

    def permitted(self, platform: str, shifts: Sequence[Override] = ()) -> Permitted:
        """Return what the results may be, some values on the way being shifted.

        Raises:
            EvaluationError: when the program cannot be evaluated.
        """
        return Permitted(self.program, self.inputs, platform, self.infeeds, shifts)


@dataclass(frozen=True, slots=True)
class Explained:
    """What is behind a failure.

    `known` are the ids of the expectations met, `first` the operation that goes wrong first,
    `new` the first of those that no expectation knows; `judgement` is on what is left to explain
    once what is known is taken as given, None while nothing is.
    """

    known: tuple[str, ...] = ()
    first: Fault | None = None
    new: Fault | None = None
    judgement: Judgement | None = None

    @property
    def is_known(self) -> bool:
        """Whether nothing is left to explain."""
        return self.new is None and self.judgement is not None and not self.judgement.verdict.fails

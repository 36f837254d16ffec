"""Hypotheses in force: the hypotheses of the expectations that results are judged with.

Code that judges results by expectations wraps the judging in `in_force`: a batch of a run, a user's
program, a trial of a campaign. Only the judge reads these hypotheses.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from conformance.known.any_op import HYPOTHESES
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.hypothesis import Hypothesis
from reference.ir.program import Operation

_IN_FORCE: ContextVar[tuple[EntryPrediction, ...]] = ContextVar("hypotheses in force", default=())


@contextmanager
def in_force(hypotheses: Sequence[EntryPrediction]) -> Generator[None]:
    """Judge by these hypotheses, and no others, within the block."""
    before = _IN_FORCE.set(tuple(hypotheses))
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def hypotheses_of(
    operation: Operation, folded: Sequence[bool] | None = None
) -> tuple[Hypothesis, ...]:
    """Return the hypotheses about an operation's results: those in force, then those of any op.

    `folded` tells which operands are constants to a compiler; None if unknown.
    """
    return (*stated_hypotheses(operation, folded), *HYPOTHESES)


def stated_hypotheses(
    operation: Operation, folded: Sequence[bool] | None = None
) -> tuple[Hypothesis, ...]:
    """Return the hypotheses in force about an operation."""
    return tuple(
        one.hypothesis(folded) for one in _IN_FORCE.get() if one.applies(operation, folded)
    )


def unpredictable_classes() -> frozenset[str]:
    """Return the classes of hypotheses in force by which some elements may have any value."""
    return frozenset(one.label for one in _IN_FORCE.get() if one.unpredictable)

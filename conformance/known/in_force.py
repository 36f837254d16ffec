"""The hypotheses in force: those of the expectations by which results are being judged.

Whoever judges a backend's results by expectations says so with `in_force`, around all of the
judging: a batch of a run, a program of a user, a trial of a campaign. The judge asks for those that
are about an operation. Nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from conformance.known.computed import Computed
from conformance.tolerance.rule import Rule
from reference.ir.program import Operation

_IN_FORCE: ContextVar[tuple[Computed, ...]] = ContextVar("hypotheses in force", default=())


@contextmanager
def in_force(hypotheses: Sequence[Computed]) -> Generator[None]:
    """Judge by these hypotheses, and no others, in the block."""
    before = _IN_FORCE.set(tuple(hypotheses))
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def with_hypotheses(rule: Rule, operation: Operation, folded: Sequence[bool] | None = None) -> Rule:
    """Return the rule with the hypotheses that are about an operation.

    `folded` says which of its operands are constants to a compiler; None where nobody knows.
    """
    found = tuple(one.deviation for one in _IN_FORCE.get() if one.applies(operation, folded))
    return replace(rule, hypotheses=found) if found else rule


def unpredictable_classes() -> frozenset[str]:
    """Return the classes of hypotheses in force by which some elements may have any value."""
    return frozenset(one.label for one in _IN_FORCE.get() if one.unpredictable)

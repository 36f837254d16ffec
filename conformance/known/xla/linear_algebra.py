"""What compilers make of decompositions and triangular systems, by what it may err."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.known.hypothesis import Hypothesis, Results
from conformance.known.xla.solved_by_inverses import BY_INVERSES
from conformance.tolerance.bounds.linear_algebra import (
    RECIPROCAL,
    RECIPROCAL_ROOT,
    factor_errors,
    solution_errors,
)


def _of(errors: Callable[..., Results], *more: int) -> tuple[Hypothesis, ...]:
    """Return the classes of lost subnormal numbers, and of reciprocals that cost so many u more."""
    lost = Hypothesis("subnormal intermediate", partial(errors, flushes=True), flushes=True)
    reciprocals = (partial(errors, more=steps, flushes=True) for steps in more)
    return lost, *(Hypothesis("reciprocal", one) for one in reciprocals)


FACTORED = _of(factor_errors, RECIPROCAL, RECIPROCAL_ROOT)
SOLVED = (*_of(solution_errors), BY_INVERSES)

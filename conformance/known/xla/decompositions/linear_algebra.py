"""Decompositions and triangular systems by compilers, with backward errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.known.hypothesis import Hypothesis, Results
from conformance.known.xla.decompositions.cholesky_by_reciprocals import BY_RECIPROCALS
from conformance.known.xla.decompositions.solve_by_inverses import BY_INVERSES
from conformance.tolerance.bounds.linear_algebra import cholesky_errors, triangular_solve_errors


def _flushing_class(errors: Callable[..., Results]) -> Hypothesis:
    """Return the class of flushed subnormal numbers."""
    return Hypothesis("subnormal intermediate", partial(errors, flushes=True), flushes=True)


FACTORED = (_flushing_class(cholesky_errors), BY_RECIPROCALS)
SOLVED = (_flushing_class(triangular_solve_errors), BY_INVERSES)

"""Classes of decompositions and of triangular systems, in the order of trial."""

from __future__ import annotations

import numpy as np

from conformance.known.xla.decompositions.cholesky_by_reciprocals import BY_RECIPROCALS
from conformance.known.xla.decompositions.linear_algebra import FACTORED, SOLVED
from conformance.known.xla.decompositions.solve_by_inverses import BY_INVERSES
from suites.meta.support.small_programs import op_program, tensor_of


def test_flushing_is_tried_before_other_formulas() -> None:
    for first, *rest in (FACTORED, SOLVED):
        assert first.flushes
        assert not any(one.flushes for one in rest)
    assert BY_RECIPROCALS in FACTORED
    assert BY_INVERSES in SOLVED


def test_flushing_permits_the_loss_of_a_subnormal_element() -> None:
    """The square of the factor's second element lacks a subnormal number."""
    of = tensor_of(2, 2)
    operation = op_program("cholesky", [of], of, lower=True).subject
    matrix = np.array([[1.0, 2e-39], [2e-39, 1.0]], np.float32)
    factor = np.eye(2, dtype=np.float32)
    flushing = FACTORED[0]
    assert flushing.errors is not None
    for got, explained in ((factor, True), (factor + np.tril(factor * 0.5 + 0.5), False)):
        (errors,) = flushing.errors(operation, (matrix,), (factor,), (got,))
        assert bool(errors[1, 0] <= 1) is explained

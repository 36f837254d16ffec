"""Sums with flushed subnormal intermediate numbers."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.subnormals.flushed_sums import flushing_class
from conformance.tolerance.rule import Rule
from reference.ir.program import Operation
from suites.meta.support.small_programs import array

RULE = Rule(
    "sum", "", "",
    bound=lambda *_: (np.array([0.25, 0.25]),), flush_loss=lambda *_: (np.array([0.5, 0.0]),),
)  # fmt: skip
WANT = (array([1.0, 1.0]),)
ADD = Operation("add", (), ())


@pytest.mark.parametrize(
    ("got", "explained"),
    [([1.75, 1.0], [True, False]), ([1.8, 1.2], [False, False]), ([0.25, 1.0], [True, False])],
)
def test_errors_are_within_bound_and_loss_where_anything_was_flushed(
    got: list[float], explained: list[bool]
) -> None:
    found = flushing_class(RULE)
    assert found.flushes
    assert found.errors is not None
    (errors,) = found.errors(ADD, (), WANT, (array(got),))
    assert (errors <= 1).tolist() == explained


def test_results_without_a_bound_are_not_explained() -> None:
    rule = Rule("data", "", "", bound=lambda *_: (None,), flush_loss=lambda *_: (None,))
    found = flushing_class(rule)
    assert found.errors is not None
    (errors,) = found.errors(ADD, (), WANT, WANT)
    assert np.isinf(errors).all()

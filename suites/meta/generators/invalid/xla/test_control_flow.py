"""Near misses of XlaBuilder's branches and selected tuples."""

from __future__ import annotations

import pytest

from generators.invalid.xla import control_flow
from suites.meta.support.near_misses import assert_separate, subjects


@pytest.mark.parametrize("op", control_flow.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(control_flow, op)


def test_a_predicate_has_two_branches() -> None:
    found = subjects(control_flow, "Conditional", "P1")
    assert 1 in {len(one.regions) for one in found}


def test_tuples_differ_in_a_size_or_in_their_number() -> None:
    theirs = [one.operands[2].type.types for one in subjects(control_flow, "Select (tuples)", "P2")]  # type: ignore[union-attr]
    assert {len(types) for types in theirs} == {1, 2}

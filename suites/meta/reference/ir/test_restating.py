"""Constraints of a twin reported under the ids of the op that is lowered to it."""

from __future__ import annotations

import pytest

from generators.invalid.table import near_misses
from reference.interpreter.evaluate import check
from reference.ir.constraints import ConstraintViolation, collecting, require, restating
from reference.ops.table import OPS


def test_ids_are_reported_as_others_and_some_not_at_all() -> None:
    with collecting() as found, restating({"C1": "P1", "C2": ""}):
        assert not require("C1", False)
        assert not require("C2", False)
        assert not require("C3", False)
        assert require("C1", True)
    assert found.ids == ["P1", "C3"]
    with restating({"C1": "P1", "C2": ""}):
        require("C2", False)
        with pytest.raises(ConstraintViolation, match="P1"):
            require("C1", False)
    with collecting() as found:
        require("C1", False)
    assert found.ids == ["C1"]


RESTATING = [name for name, record in OPS.items() if record.restates]


@pytest.mark.parametrize("op", RESTATING)
def test_what_is_restated_are_constraints_of_both(op: str) -> None:
    record = OPS[op]
    ours = [own for own, _ in record.restates]
    theirs = [id_ for _, ids in record.restates for id_ in ids]
    assert set(ours) <= set(record.constraints)
    assert set(theirs) <= set(OPS[record.twin].constraints)
    assert len(set(theirs)) == len(theirs)
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("op", [name for name, record in OPS.items() if record.waives])
def test_what_is_waived_is_a_constraint_of_the_twin(op: str) -> None:
    assert set(OPS[op].waives) <= set(OPS[OPS[op].twin].constraints)


def test_a_near_miss_of_a_scatter_breaks_the_condition_of_the_page() -> None:
    """Each id of scatter that the page states has programs that break it, as P1 to P11."""
    record = OPS["Scatter"]
    misses = near_misses("Scatter")
    ours = {theirs: own for own, ids in record.restates for theirs in ids}
    twins = [ours[id_] for id_, _ in near_misses("scatter") if id_ in ours]
    assert [id_ for id_, _ in misses] == twins
    assert {id_ for id_, _ in misses} == set(record.constraints)
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)]

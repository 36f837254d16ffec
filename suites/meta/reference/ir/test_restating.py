"""Constraints of a twin reported under the ids of the op that is lowered to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from generators.invalid.misses import program, tensor
from generators.invalid.table import near_misses
from reference.interpreter.evaluate import check, violations
from reference.ir.constraints import ConstraintViolation, collect_violations, require, restate_ids
from reference.ir.types import element_type
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

OWN = {"preferred_element_type": "bf16"}
BF16, F32 = element_type("bf16"), element_type("f32")


def test_ids_are_reported_as_others_and_some_not_at_all() -> None:
    with collect_violations() as found, restate_ids({"C1": "P1", "C2": ""}):
        assert not require("C1", False)
        assert not require("C2", False)
        assert not require("C3", False)
        assert require("C1", True)
    assert found.ids == ["P1", "C3"]
    with restate_ids({"C1": "P1", "C2": ""}):
        require("C2", False)
        with pytest.raises(ConstraintViolation, match="P1"):
            require("C1", False)
    with collect_violations() as found:
        require("C1", False)
    assert found.ids == ["C1"]


RESTATING = [name for name, record in OPS.items() if record.restates]


@pytest.mark.parametrize("op", RESTATING)
def test_restated_constraints_exist_on_both_ops(op: str) -> None:
    record = OPS[op]
    ours = [own for own, _ in record.restates]
    theirs = [id_ for _, ids in record.restates for id_ in ids]
    assert set(ours) <= set(record.constraints)
    assert set(theirs) <= set(OPS[record.twin].constraints)
    assert len(set(theirs)) == len(theirs)
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("op", [name for name, record in OPS.items() if record.waives])
def test_waived_constraint_exists_on_the_twin(op: str) -> None:
    assert set(OPS[op].waives) <= set(OPS[OPS[op].twin].constraints)


def test_lowered_convolution_waives_exactly_the_same_constraint() -> None:
    """The result of a Conv is of another type; the same convolution by itself breaks C27."""
    given: dict[str, Any] = {
        "window_strides": (1,), "padding": "VALID", "feature_group_count": 1,
        "batch_group_count": 1, "preferred_element_type": "f32",
    }  # fmt: skip
    types = {"lhs": tensor(BF16, 1, 1, 4), "rhs": tensor(BF16, 1, 1, 4)}
    made = program("Conv", types, (tensor(F32, 1, 1, 1),), **given)
    assert check(made) == []
    below = lower_program(made)
    assert check(below) == []
    (alone,) = [one for one in below.walk() if one.name == "convolution"]
    assert alone.waives == ("C27",)
    assert violations(replace(alone, waives=())) == ("C27",)
    plain = program("Conv", types, (tensor(BF16, 1, 1, 1),), **given | OWN)
    assert not any(one.waives for one in lower_program(plain).walk())
    for id_, near in near_misses("Conv"):
        if id_ == "P5":  # operands of two element types
            assert [ids for _, ids in check(lower_program(near))] == [("C27",)]


def test_a_near_miss_of_a_scatter_breaks_the_condition_of_the_page() -> None:
    """Each id of scatter that the page states has programs that break it, as P1 to P11."""
    record = OPS["Scatter"]
    misses = near_misses("Scatter")
    ours = {theirs: own for own, ids in record.restates for theirs in ids}
    twins = [ours[id_] for id_, _ in near_misses("scatter") if id_ in ours]
    assert [id_ for id_, _ in misses] == twins
    assert {id_ for id_, _ in misses} == set(record.constraints)
    for id_, near in misses:
        assert [ids for _, ids in check(near)] == [(id_,)]

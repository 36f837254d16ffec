"""Judgements whose classes the expectations in force state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.judging.judgement import Failing, passing_judgement
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.triage.audit import is_stated
from conformance.verdict import Verdict
from suites.meta.support.small_programs import op_program, tensor_of


@pytest.mark.parametrize(
    ("op", "kinds", "is_predicted"),
    [
        ("tanh", ["as computed by mine"], True),
        ("tanh", ["as computed by mine", "flushed"], True),
        ("tanh", ["as computed by mine", "wrong value"], False),
        ("tanh", ["flushed"], False),
        ("sine", ["as computed by mine"], False),
    ],
)
def test_class_of_each_wrong_element_is_stated(
    op: str, kinds: list[str], is_predicted: bool
) -> None:
    failing = tuple(
        Failing(Verdict.FLUSHED if kind == "flushed" else Verdict.DIVERGENT, kind, "", 1)
        for kind in kinds
    )
    judgement = replace(
        passing_judgement(1), verdict=Verdict.DIVERGENT, kind=kinds[0], failing=failing
    )
    operation = op_program(op, [tensor_of(2)], tensor_of(2)).subject
    assert not is_stated(operation, judgement)
    with in_force([EntryPrediction("mine", ("tanh",), ("*",), "%0 = $op(%operand)")]):
        assert is_stated(operation, judgement) == is_predicted

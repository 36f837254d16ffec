"""The table of hypotheses about whole programs."""

from __future__ import annotations

import pytest

from conformance.known.hypothesis import Hypothesis
from conformance.known.programs import (
    ARITHMETIC_HYPOTHESES,
    PROGRAM_LABELS,
    PROGRAMS,
    candidates_for,
    operations_of_class,
)
from conformance.tolerance.hardware import Hardware
from conformance.transforms.substitute import substitute_constant
from suites.meta.support.small_programs import array, op_program, tensor_of

ADD = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2))


@pytest.mark.parametrize("hypothesis", PROGRAMS, ids=lambda one: one.label)
def test_hypothesis_rewrites_programs(hypothesis: Hypothesis) -> None:
    assert hypothesis.rewrite is not None
    assert hypothesis.arithmetic is None
    assert hypothesis.platform in ("", *Hardware)
    assert hypothesis.label in PROGRAM_LABELS


def test_arithmetic_is_no_rewriting() -> None:
    for one in ARITHMETIC_HYPOTHESES:
        assert one.rewrite is None
        assert one.arithmetic is not None
        assert one.label not in PROGRAM_LABELS


@pytest.mark.parametrize("platform", Hardware)
def test_a_plain_sum_has_no_candidates(platform: Hardware) -> None:
    x = array([1.0, 2.0])
    assert not list(candidates_for(ADD, (x, x), [x], platform))


def test_operations_of_a_class_are_those_that_it_concerns() -> None:
    of_pairs = next(one for one in PROGRAMS if one.platform == Hardware.INTERPRETER)
    assert operations_of_class(of_pairs.label, ADD) == []
    assert (
        operations_of_class("no such class", substitute_constant(ADD, "a0", array([1.0, 2.0])))
        == []
    )

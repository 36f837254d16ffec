"""Programs that a hypothesis predicts in place of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from conformance.known.candidates import Candidate, candidate_programs, rewritten_by
from conformance.known.hypothesis import Hypothesis
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array, op_program, tensor_of

ADD, SUBTRACT, MULTIPLY = (
    op_program(op, [tensor_of(2), tensor_of(2)], tensor_of(2))
    for op in ("add", "subtract", "multiply")
)
INPUTS = (array([1.0, 2.0]), array([1.0, 2.0]))


def subtract_instead(program: Program) -> Iterator[Sequence[Program]]:
    del program
    yield (SUBTRACT,)


def only(actual: Array, *programs: Program) -> Candidate:
    (found,) = rewritten_by(lambda _: iter([programs]), ADD, INPUTS, [actual])
    return found


def test_prediction_is_the_result_of_the_other_program() -> None:
    assert only(array([0.0, 0.0]), SUBTRACT).is_exact
    found = only(array([0.0, 1.0]), SUBTRACT)
    assert not found.is_exact
    assert found.near() == 1


def test_elements_in_which_alternatives_differ_may_have_any_value() -> None:
    """1 + 1 is not 1 * 1, and 2 + 2 is 2 * 2."""
    found = only(array([77.0, 4.0]), ADD, MULTIPLY)
    assert [mask.tolist() for mask in found.predicted] == [[False, True]]
    assert found.is_exact
    assert found.near() == 1
    assert not only(array([77.0, 5.0]), ADD, MULTIPLY).is_exact


def test_elements_that_another_prediction_has_are_not_counted() -> None:
    found = only(array([0.0, 0.0]), SUBTRACT)
    assert found.near() == 2
    assert found.near([array([0.0, 9.0])]) == 1


def test_results_may_have_another_shape_of_the_same_size() -> None:
    found = only(array([[0.0], [0.0]]), SUBTRACT)
    assert found.actual[0].shape == (2,)
    assert found.is_exact


@pytest.mark.parametrize("actual", [array([0.0]), array([0, 0], "si32")])
def test_other_sizes_and_types_have_no_candidate(actual: Array) -> None:
    assert not list(rewritten_by(subtract_instead, ADD, INPUTS, [actual]))
    assert not list(rewritten_by(subtract_instead, ADD, INPUTS, []))


def test_true_may_have_any_bits() -> None:
    program = op_program(
        "compare", [tensor_of(2), tensor_of(2)], tensor_of(2, of="i1"), comparison_direction="EQ"
    )
    actual = np.array([5, 1], np.uint8).view(np.bool_)
    (found,) = rewritten_by(lambda _: iter([(program,)]), ADD, INPUTS, [actual])
    assert found.is_exact


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, 1),
        ({"platform": Hardware.CPU}, 1),
        ({"platform": Hardware.TPU}, 0),
        ({"several": True}, 0),
        ({"rewrite": None}, 0),
    ],
)
def test_hypotheses_apply_to_their_platform_and_number_of_processes(given, found: int) -> None:
    one = Hypothesis("less", **{"rewrite": subtract_instead, **given})
    actual = [array([0.0, 0.0])]
    labels = [c.label for c in candidate_programs([one], ADD, INPUTS, actual, Hardware.CPU)]
    assert labels == ["less"] * found

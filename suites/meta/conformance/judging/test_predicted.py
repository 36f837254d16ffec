"""The number of wrong elements that their class predicts within 2 ulp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.judging.judgement import combine
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.verdict import Failing
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array, op_program, tensor_of

TINY, ULP = 1e-40, 2.0**-23


def failing_class(program: Program, inputs: list[Array], *actual: Array) -> Failing:
    """Return the only class of elements that fail."""
    (found,) = judge_operation(program, inputs, evaluate(program, inputs), actual).failing
    return found


def of(op: str, operands: list[Any], actual: Any, element_type: str = "f32") -> tuple[str, int]:
    """Return the class of a failing elementwise op, and the number of predicted elements."""
    given = [array(one, element_type) for one in operands]
    type_ = tensor_of(len(given[0]), of=element_type)
    program = op_program(op, [type_] * len(given), type_)
    found = failing_class(program, given, array(actual, element_type))
    return found.kind, found.predicted


@pytest.mark.parametrize(
    ("op", "operands", "actual", "kind", "predicted"),
    [
        ("add", [[TINY, 1.0], [TINY, 1.0]], [0.0, 2.0], "flushed", 1),
        ("multiply", [[TINY] * 2, [1e30] * 2], [0.0, 0.0], "flushed", 2),
        ("subtract", [[5.0, 1.0], [3.0, 9.0]], [-2.0, 8.0], "operands swapped", 2),
        ("divide", [[5.0], [3.0]], [1.6666668], "reciprocal", 1),
        ("add", [[1.0], [2.0]], [3.0 + 6 * ULP], "accuracy", 0),
        ("add", [[1.0, 1.0], [2.0, 3.0]], [4.5, 7.5], "wrong value", 0),
        ("add", [[1.0], [np.nan]], [2.0], "NaN", 0),
        ("negate", [[0.0]], [0.0], "signed zero", 0),
    ],
)
def test_predicting_classes_count_predicted_elements(
    op: str, operands: list[Any], actual: Any, kind: str, predicted: int
) -> None:
    assert of(op, operands, actual) == (kind, predicted)


def test_a_part_of_a_complex_number_may_be_flushed_beside_one_that_is_near() -> None:
    lhs, rhs = [complex(1.0, TINY)], [complex(2.0, TINY)]
    assert of("add", [lhs, rhs], [3.0 + 0j], "complex<f32>") == ("flushed", 1)


@pytest.mark.parametrize(("off", "predicted"), [(0, 2), (1, 2), (2, 2), (3, 1), (4, 1)])
def test_entries_may_permit_more_than_counts_as_predicted(off: int, predicted: int) -> None:
    text = "%0 = $op(%operand)\n%1 = stablehlo.add %0, %0 : $T"
    entry = EntryPrediction("mine", ("tanh",), ("f32",), text, within=4.0)
    x = array([0.5, 0.25])
    program = op_program("tanh", [tensor_of(2)], tensor_of(2))
    (right,) = evaluate(program, [x])
    actual = 2 * right
    actual[0] += np.float32(off) * np.spacing(actual[0])
    with in_force([entry]):
        found = failing_class(program, [x], actual)
    assert (found.kind, found.wrong, found.predicted) == ("as computed by mine", 2, predicted)


def test_results_of_an_unsigned_type_are_predicted_where_their_bits_are_right() -> None:
    x = array([1.5, -2.0, 4.0])
    program = op_program("negate", [tensor_of(3)], tensor_of(3))
    (right,) = evaluate(program, [x])
    found = judge_operation(program, [x], [right], [right.view(np.uint32)])
    assert [(one.wrong, one.predicted) for one in found.failing] == [(3, 3)]


def test_predicted_elements_of_input_sets_add_up() -> None:
    program = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2))
    tiny, zero = array([TINY, TINY]), array([0.0, 0.0])
    judged = [
        judge_operation(program, [tiny, zero], [tiny], [array([0.0, last])]) for last in (0.0, TINY)
    ]
    (both,) = combine(judged).failing
    assert (both.wrong, both.predicted) == (3, 3)

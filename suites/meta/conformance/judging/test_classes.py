"""Classes of differing elements: hypotheses, flushing, and elements that a class predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.classify import (
    BY_FORMULA,
    FAR,
    classify_elements,
)
from conformance.judging.compare import judge_operation
from conformance.judging.differences import DifferingElements
from conformance.judging.joint_results import RuleAnswers
from conformance.judging.judgement import combine
from conformance.judging.subnormals import (
    find_flushed,
    find_flushed_in_f32,
)
from conformance.known.hypothesis import Hypothesis
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule
from conformance.verdict import Failing, Verdict
from reference.interpreter.evaluate import apply, evaluate
from reference.ir.program import Program
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import different_bits
from suites.meta.support.small_programs import array, op_program, tensor_of


def differing_elements(
    op: str, operands: list, got: list, of: str = "f32", platform: str = Hardware.CPU, **given
) -> DifferingElements:
    """Return the elements in which the given results differ from the reference's."""
    arrays = tuple(array(one, of) for one in operands)
    types = [tensor_of(*one.shape, of=of) for one in arrays]
    actual = array(got, of)
    operation = op_program(op, types, tensor_of(*actual.shape, of=of), **given).subject
    expected = apply(operation, arrays)[0]
    return differing_from(expected, actual, operation, arrays, platform)


def differing_from(
    expected: Array, actual: Array, operation, operands: tuple[Array, ...], platform: str
) -> DifferingElements:
    rule = CATALOG[operation.name].tolerance.hardware_rule(Hardware(platform))
    where = np.flatnonzero(different_bits(expected, actual))
    budget = rule.budget(element_type_of(expected), platform)
    return DifferingElements(
        operation, operands, expected, actual, where, rule, budget, platform, 0, RuleAnswers(),
        (actual,), (), lambda measure: measure(operation, operands, (expected,), (actual,))[0],
    )  # fmt: skip


LEAST = float(np.finfo(np.float32).smallest_subnormal)
PASS, WRONG = Verdict.PASS, Verdict.DIVERGENT


def classes(op: str, operands: list, got: list, of: str = "f32") -> list[tuple[Verdict, str]]:
    return classify_elements(differing_elements(op, operands, got, of)).per_element()


def hypothesis(label: str, value: float, **given) -> Hypothesis:
    """Return the class of elements that equal a number."""
    return Hypothesis(label, lambda *of: (np.where(of[3][0] == value, 0.0, np.inf),), **given)


@pytest.mark.parametrize(
    ("got", "given", "kind"),
    [
        (9.0, [hypothesis("nine", 9.0)], "nine"),
        (8.0, [hypothesis("nine", 9.0)], "wrong value"),
        (9.0, [hypothesis("nine", 9.0), hypothesis("stated", 9.0, stated=True)], "stated"),
        (9.0, [hypothesis("nine", 9.0, unsteady=True)], "nine"),
        (-3.0, [hypothesis("minus", -3.0)], "minus"),
    ],
)
def test_stated_hypotheses_are_tried_before_those_of_any_op(
    got: float, given: list[Hypothesis], kind: str
) -> None:
    d = replace(differing_elements("add", [[1.0], [2.0]], [got]), hypotheses=tuple(given))
    assert classify_elements(d).per_element() == [(WRONG, kind)]


@pytest.mark.parametrize(
    ("stated", "found"),
    [(True, (Verdict.INACCURATE, "zero")), (False, (Verdict.FLUSHED, "flushed"))],
)
def test_flushing_is_tried_between_stated_hypotheses_and_those_of_any_op(
    stated: bool, found: tuple[Verdict, str]
) -> None:
    d = differing_elements("add", [[LEAST], [0.0]], [0.0])
    d = replace(d, hypotheses=(hypothesis("zero", 0.0, stated=stated),))
    assert classify_elements(d).per_element() == [found]


def test_unspecified_elements_are_of_no_stated_class() -> None:
    d = differing_elements("divide", [[7], [0]], [42], "si32")
    d = replace(d, hypotheses=(hypothesis("read elsewhere", 42, stated=True),))
    assert classify_elements(d).per_element()[0][0] is Verdict.UNSPECIFIED


def test_swapped_operands_must_explain_nearly_all_elements() -> None:
    x, y = [float(n) for n in range(1, 13)], [0.25] * 12
    swapped = [b - a for a, b in zip(x, y, strict=True)]
    assert set(classes("subtract", [x, y], swapped)) == {(WRONG, "operands swapped")}
    half = [a - b for a, b in zip(x[:6], y[:6], strict=True)] + swapped[6:]
    assert set(classes("subtract", [x, y], half)) == {(WRONG, "sign")}


@pytest.mark.parametrize(("error", "verdict"), [(FAR, Verdict.INACCURATE), (FAR + 1, WRONG)])
def test_error_beyond_many_bounds_is_a_wrong_value(error: int, verdict: Verdict) -> None:
    d = differing_elements("add", [[1.0], [2.0]], [3.5])
    answers = replace(d.answers, bound=np.full(1, 0.5 / error))
    assert classify_elements(replace(d, answers=answers)).per_element()[0][0] is verdict


def test_permitted_by_the_rule_is_a_pass() -> None:
    d = differing_elements("add", [[1.0, 1.0], [2.0, 2.0]], [9.0, 9.0])
    answers = replace(d.answers, permitted=np.array([True, False]))
    found = classify_elements(replace(d, answers=answers)).per_element()
    assert found == [(PASS, ""), (WRONG, "wrong value")]


def test_excluded_by_the_rule_comes_before_everything_that_permits() -> None:
    d = differing_elements("add", [[1.0], [2.0]], [9.0])
    answers = replace(
        d.answers, permitted=np.array([True]), excluded=(("out of range", np.array([True])),)
    )
    assert classify_elements(replace(d, answers=answers)).per_element() == [(WRONG, "out of range")]


def test_another_permitted_formula_passes_under_its_own_kind() -> None:
    d = differing_elements("add", [[1.0], [2.0]], [9.0])
    rule = Rule("sum", "", "", formulas=(lambda x, y: x + y + np.float32(6),))
    assert classify_elements(replace(d, rule=rule)).per_element() == [(PASS, BY_FORMULA)]


SUBNORMAL = 1e-40


def flushed_kinds(d: DifferingElements) -> list[str]:
    """Return the kinds of flushing that explain all elements."""
    return [kind for _, kind, mask, *_ in find_flushed(d) if mask.all()]


def test_the_interpreter_flushes_nothing() -> None:
    given = [[1e-20], [1e-20]]
    d = differing_elements("multiply", given, [0.0], platform=Hardware.INTERPRETER)
    assert not list(find_flushed(d))
    assert not list(find_flushed_in_f32(d))


def reversed_numbers(got: list[float], platform: str = Hardware.CPU) -> DifferingElements:
    """Return the differences from the reversed numbers SUBNORMAL, 0 and 1."""
    x = array([SUBNORMAL, 0.0, 1.0])
    program = op_program("reverse", [tensor_of(3)], tensor_of(3), dimensions=(0,))
    return differing_from(x[::-1], array(got), program.subject, (x,), platform)


def test_moved_subnormal_is_flushed_with_its_operand() -> None:
    assert "flushed: operands" in flushed_kinds(reversed_numbers([1.0, 0.0, 0.0]))
    assert flushed_kinds(reversed_numbers([1.0, 0.0, 0.5])) == []


def test_moved_zero_keeps_its_sign() -> None:
    assert flushed_kinds(reversed_numbers([1.0, -0.0, 0.0])) == []


@pytest.mark.parametrize(
    ("got", "kinds"),
    [([0, 0, 0, 0], ["flushed: operands"]), ([3, 0, 0, 0], []), ([0, 1, 0, 0], [])],
)
def test_all_parts_of_a_flushed_number_are_flushed(got: list[int], kinds: list[str]) -> None:
    """The bits of 0x00010203 as four bytes, the lowest first."""
    x = np.array([0x00010203], np.uint32).view(np.float32)
    program = op_program("bitcast_convert", [tensor_of(1)], tensor_of(1, 4, of="ui8"))
    expected, actual = x.view(np.uint8).reshape(1, 4), array([got], "ui8")
    d = differing_from(expected, actual, program.subject, (x,), Hardware.CPU)
    assert flushed_kinds(d) == kinds


COMPLEX = [
    ([complex(1e-20, 1e-19)], [complex(1e-20, 0)], [complex(0, 0)], True),
    ([complex(1e-20, 1e-19)], [complex(1e-20, 0)], [complex(0, 1)], False),
    ([complex(1e-20, 1)], [complex(1, 0)], [complex(0, 1)], False),
]


@pytest.mark.parametrize(("x", "y", "got", "flushed"), COMPLEX)
def test_part_of_a_complex_product_is_flushed(x: list, y: list, got: list, flushed: bool) -> None:
    d = differing_elements("multiply", [x, y], got, "complex<f32>")
    assert ("flushed: results" in flushed_kinds(d)) is flushed


TINY, ULP = 1e-40, 2.0**-23


def failing_class(program: Program, inputs: list[Array], *actual: Array) -> Failing:
    """Return the only class predicted_class elements that fail."""
    (found,) = judge_operation(program, inputs, evaluate(program, inputs), actual).failing
    return found


def predicted_class(
    op: str, operands: list[Any], actual: Any, element_type: str = "f32"
) -> tuple[str, int]:
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
    assert predicted_class(op, operands, actual) == (kind, predicted)


def test_a_part_of_a_complex_number_may_be_flushed_beside_one_that_is_near() -> None:
    lhs, rhs = [complex(1.0, TINY)], [complex(2.0, TINY)]
    assert predicted_class("add", [lhs, rhs], [3.0 + 0j], "complex<f32>") == ("flushed", 1)


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

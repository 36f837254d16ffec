"""The questions about a differing element, and which of them decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.judging.classify import (
    BY_FORMULA,
    FAR,
    classify_elements,
    codes_without_accuracy,
)
from conformance.judging.questions import ElementClasses
from conformance.known.hypothesis import Hypothesis
from conformance.tolerance.rule import Rule
from conformance.verdict import Verdict
from suites.meta.conformance.judging.differing import differing_elements

TINY = float(np.finfo(np.float32).smallest_subnormal)
ONE_UP = float(np.nextafter(np.float32(1), np.float32(2)))
PASS, WRONG = Verdict.PASS, Verdict.DIVERGENT


def classes(op: str, operands: list, got: list, of: str = "f32") -> list[tuple[Verdict, str]]:
    return classify_elements(differing_elements(op, operands, got, of)).per_element()


@pytest.mark.parametrize(
    ("op", "operands", "got", "verdict", "kind"),
    [
        ("add", [[1.0], [2.0]], [-3.0], WRONG, "sign"),
        ("add", [[1.0], [2.0]], [7.0], WRONG, "wrong value"),
        ("add", [[1.0], [2.0]], [np.nan], WRONG, "NaN"),
        ("add", [[1.0], [2.0]], [np.inf], WRONG, "infinity"),
        ("add", [[0.0], [0.0]], [-0.0], WRONG, "signed zero"),
        ("add", [[1.0], [0.0]], [ONE_UP], Verdict.INACCURATE, "accuracy"),
        ("add", [[TINY], [0.0]], [0.0], Verdict.FLUSHED, "flushed"),
        ("add", [[np.nan], [0.0]], [-np.nan], PASS, ""),
        ("exponential", [[0.0]], [ONE_UP], PASS, ""),
        ("tanh", [[20.0]], [ONE_UP], Verdict.INACCURATE, "out of range"),
        ("tanh", [[-20.0]], [-ONE_UP], Verdict.INACCURATE, "out of range"),
        ("tanh", [[8.7, -8.7]], [1.0, -1.0], PASS, ""),
    ],
)
def test_element_gets_the_first_class_that_explains_it(
    op: str, operands: list, got: list, verdict: Verdict, kind: str
) -> None:
    assert set(classes(op, operands, got)) == {(verdict, kind)}


@pytest.mark.parametrize(
    ("operands", "got", "of", "kind"),
    [
        ([[100], [100]], [127], "si8", "saturation"),
        ([[100], [100]], [126], "si8", "wrong value"),
        ([[1 << 40], [5]], [5], "si64", "truncated to 32 bits"),
        ([[1 << 31], [0]], [-(1 << 31)], "si64", "truncated to 32 bits"),
    ],
)
def test_integer_that_saturates_or_loses_its_high_half(
    operands: list, got: list, of: str, kind: str
) -> None:
    assert classes("add", operands, got, of) == [(WRONG, kind)]


def test_complex_zeros_differ_in_the_sign_of_a_part() -> None:
    found = classes("add", [[1j], [-1j]], [complex(-0.0, 0.0)], "complex<f32>")
    assert found == [(WRONG, "signed zero")]


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
    d = differing_elements("add", [[TINY], [0.0]], [0.0])
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


def test_finite_result_of_a_certain_overflow_is_wrong_within_any_budget() -> None:
    largest = float(np.finfo(np.float32).max)
    assert classes("exponential", [[200.0]], [largest]) == [(WRONG, "infinity")]


def test_unspecified_element_is_not_judged() -> None:
    ((verdict, label),) = classes("divide", [[7], [0]], [42], "si32")
    assert verdict is Verdict.UNSPECIFIED
    assert label


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


def test_only_passes_and_lacks_of_accuracy_count_as_errors() -> None:
    table = [
        (PASS, ""), (PASS, BY_FORMULA), (Verdict.UNSPECIFIED, "NaN"), (Verdict.FLUSHED, "x"),
        (WRONG, "sign"), (Verdict.INACCURATE, "accuracy"),
    ]  # fmt: skip
    assert codes_without_accuracy(ElementClasses(np.zeros(0), np.zeros(0), table)) == [1, 2, 3, 4]

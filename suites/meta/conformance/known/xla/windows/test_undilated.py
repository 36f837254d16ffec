"""Dilation that is forgotten where windows are one element."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.windows.undilated import LABEL, UNDILATED
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import apply, evaluate
from reference.ir.program import Attribute, Program, Value, single_op
from reference.ir.types import Array, element_type

F32 = element_type("f32")
BODY = fold_of("maximum", F32)
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def program(window: int, dilation: int) -> Program:
    """Return windows of two rows side by side, and of `window` columns of a dilated dimension."""
    given: dict[str, Attribute] = {
        "window_dimensions": (2, window), "window_strides": (2, 1),
        "base_dilations": (1, dilation),
    }  # fmt: skip
    columns = 2 * dilation + 2 - window
    return single_op(
        "reduce_window",
        (Value("x", tensor(F32, 4, 3)), *BODY.identity),
        (tensor(F32, 2, columns),),
        given,
        (BODY.region,),
    )


def kind_of(subject: Program, actual: Array) -> str:
    """Return the class of a result, "" where it is right."""
    expected = evaluate(subject, (X,))
    judged = judge(subject, (X,), expected, (actual,), RULES["windowed reduction"])
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


SMALLER = np.maximum(X[::2], X[1::2])
"""The result without dilation."""


@pytest.mark.parametrize("behind", [0.0, np.nan, 7.0])
def test_undilated_result_with_arbitrary_rest_has_the_class(behind: float) -> None:
    actual = np.concatenate([SMALLER.reshape(-1), np.full(4, behind, np.float32)])
    assert kind_of(program(1, 2), actual.reshape(2, 5)) == LABEL


def test_anything_else_is_just_wrong() -> None:
    right = evaluate(program(1, 2), (X,))[0]
    assert kind_of(program(1, 2), right) == ""
    last = right.copy()
    last[1, 4] = np.nan  # behind a smaller result that is not there
    assert kind_of(program(1, 2), last) == "NaN"
    wrong = right.copy()
    wrong[0, 0] = 99
    assert kind_of(program(1, 2), wrong) == "wrong value"
    wide = evaluate(program(2, 2), (X,))[0]
    assert kind_of(program(2, 2), wide + 1) == "wrong value"  # no window of one


def test_zeros_of_the_rest_may_have_either_sign() -> None:
    subject, x = program(1, 2), -np.zeros((4, 3), np.float32)
    actual = np.concatenate([np.full(6, -0.0), np.full(4, 0.0)]).astype(np.float32).reshape(2, 5)
    actual[0, 2], actual[1, 0] = -0.0, -0.0
    judged = judge(subject, (x,), evaluate(subject, (x,)), (actual,), RULES["windowed reduction"])
    assert {one.kind for one in judged.failing} == {LABEL}


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_subnormals_may_be_zeros_there(zero: float) -> None:
    small = X * np.float32(1e-44)
    less = np.maximum(small[::2], small[1::2]).reshape(-1)
    actual = np.concatenate([np.full_like(less, zero), np.full(4, 7.0, np.float32)])
    subject = program(1, 2)
    given = (small,), evaluate(subject, (small,)), (actual.reshape(2, 5),)
    assert judge(subject, *given, RULES["windowed reduction"]).kind == LABEL


@pytest.mark.parametrize(("maximum", "is_explained"), [(np.nan, True), (3.0, True), (0.0, False)])
def test_maxima_may_ignore_nan_there(maximum: float, is_explained: bool) -> None:
    x = X.copy()
    x[0, 0] = np.nan  # beside 3
    less = np.maximum(x[::2], x[1::2]).reshape(-1)
    less[0] = maximum
    actual = np.concatenate([less, np.full(4, 7.0, np.float32)]).reshape(2, 5)
    subject = program(1, 2)
    judged = judge(subject, (x,), evaluate(subject, (x,)), (actual,), RULES["windowed reduction"])
    kinds = {one.kind for one in judged.failing}
    assert LABEL in kinds
    assert (kinds <= {LABEL, "NaN left out"}) == is_explained


def test_sums_of_nan_are_nan_there() -> None:
    """Sums have bounds, in which NaN is nothing like NaN."""
    body = fold_of("add", F32)
    x = X.copy()
    x[0, 1] = np.nan
    subject = program(1, 2)
    subject = single_op(
        "reduce_window", (Value("x", tensor(F32, 4, 3)), *body.identity),
        (tensor(F32, 2, 5),), dict(subject.subject.attributes), (body.region,),
    )  # fmt: skip
    expected, smaller = evaluate(subject, (x,)), x[::2] + x[1::2]

    def kind(first: float) -> str:
        there = smaller.reshape(-1).copy()
        there[1] = first
        actual = np.concatenate([there, np.full(4, 7.0, np.float32)]).reshape(2, 5)
        return judge(subject, (x,), expected, (actual,), RULES["windowed reduction"]).kind

    assert kind(np.nan) == LABEL
    assert kind(5.0) != LABEL


def test_dilation_of_a_single_element_changes_nothing() -> None:
    """No element is of the class, though errors of sums are permitted beside a smaller result."""
    of = element_type("bf16")
    body = fold_of("add", of)
    subject = single_op(
        "reduce_window",
        (Value("x", tensor(of, 4, 1)), *body.identity),
        (tensor(of, 2, 1),),
        {"window_dimensions": (2, 1), "window_strides": (2, 1), "base_dilations": (1, 2)},
        (body.region,),
    )
    operands = np.ones((4, 1), of.storage), np.zeros((), of.storage)
    (right,) = apply(subject.subject, operands)
    assert UNDILATED.errors is not None
    (errors,) = UNDILATED.errors(subject.subject, operands, (right,), (right,))
    assert np.isinf(errors).all()
